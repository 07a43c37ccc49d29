import test from 'ava';
import { BUILT } from '../../../experiments/market/mixes.js';
import { marketReport } from '../../../experiments/market/reproduce.js';
import { marketStudy } from '../../../experiments/market/study.js';

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
  const page = marketReport(study, 'gleaner reproduce market');
  t.regex(page, /^- Undecided: 1 of at least 5 seeds\.$/m);
  for (const { name } of study.rows) t.true(page.includes(`| ${name} |`), name);
});
