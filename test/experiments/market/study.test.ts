import test from 'ava';
import { BUILT } from '../../../experiments/market/mixes.js';
import { marketReport } from '../../../experiments/market/reproduce.js';
import {
  type MarketRow,
  type MarketStudy,
  marketStudy,
} from '../../../experiments/market/study.js';

test('by deadlines fewer activations are late, and every way plays the same activations', (t) => {
  const mix = { ...BUILT[0]!, loads: [0.95] };
  const study = marketStudy({
    built: [mix],
    heldOut: [mix],
    trainingSeeds: [1],
    seeds: [2],
    search: false,
  });
  const of = (name: string) => study.rows.find((row) => row.name === name)!;
  const rule = of('deadline-first');
  t.true(rule.late.mean < of('gittins').late.mean);
  t.true(of('gittins').late.mean < of("OpenWhisk's weights").late.mean);
  t.is(of('gittins').worstAgainstGittins, 1);
  t.is(rule.againstStatic, null);
  t.is(rule.againstDeadline, null);
  // One seed: the ratio of the shares.
  const gittins = of('gittins');
  t.is(gittins.againstDeadline!.mean.toFixed(9), (gittins.late.mean / rule.late.mean).toFixed(9));
  t.is(
    gittins.startAgainstDeadline!.mean.toFixed(9),
    (gittins.lateWithStart.mean / rule.lateWithStart.mean).toFixed(9),
  );
  // An activation whose `/run` is too long is too long with its start.
  for (const { late, lateWithStart } of study.rows) t.true(lateWithStart.mean > late.mean);
  const page = marketReport(study, 'gleaner reproduce market');
  t.regex(page, /^- Undecided: 1 of at least 5 seeds\.$/m);
  for (const { name } of study.rows) t.true(page.includes(`| ${name} |`), name);
});

/** A study of ten seeds in which the rule has this interval against the best static factors. */
function studyWith(low: number, mean: number, high: number): MarketStudy {
  const interval = (from: number, at: number, to: number) => ({
    low: from,
    mean: at,
    high: to,
    n: 10,
  });
  const row: MarketRow = {
    name: 'deadline-first',
    late: interval(0.005, 0.0065, 0.008),
    lateByMix: [0.0065],
    lateWithStart: interval(0.01, 0.02, 0.03),
    againstGittins: interval(0.4, 0.5, 0.6),
    againstStatic: interval(low, mean, high),
    againstDeadline: null,
    startAgainstDeadline: null,
    meanSlowdown: interval(1, 1, 1),
    p99Slowdown: interval(2, 2, 2),
    worstAgainstFixed: 1.1,
    worstAgainstGittins: 1.1,
  };
  // Wide without pairing: seeds differ more than ways do.
  const other = {
    ...row,
    name: 'best static factors',
    late: interval(0.007, 0.0085, 0.01),
    againstDeadline: interval(1.05, 1.1, 1.16),
    startAgainstDeadline: interval(1.01, 1.02, 1.03),
  };
  return {
    tuned: [],
    rows: [row, { ...other, againstStatic: null }],
    mixes: [],
    trainingSeeds: [1, 2, 3, 4],
    seeds: Array.from({ length: 10 }, (_, i) => 11 + i),
  };
}

test('a goal is judged by the interval that is paired by seed', (t) => {
  const page = (study: MarketStudy): string => marketReport(study, 'gleaner reproduce market');
  // The goal is .85.
  t.regex(page(studyWith(0.71, 0.76, 0.81)), /^- Met\.$/m);
  const missed = page(studyWith(0.8, 0.84, 0.89));
  t.regex(missed, /^- Missed: .* 0\.84x \[0\.80, 0\.89\] of best static factors, not shown/m);
  t.regex(missed, /^Nothing was chosen .*: one pass/m);
  t.regex(missed, /seeds 1, 2, 3, 4/);
  t.regex(missed, /^\| best static factors \| 1\.100x \[1\.050, 1\.160\] \| 1\.020x \[/m);
});
