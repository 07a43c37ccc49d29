import test from 'ava';
import type { Row, Section } from '../../../../experiments/compare/comparison.js';
import type { Comparison } from '../../../../experiments/compare/index.js';
import { comparisonReport } from '../../../../experiments/compare/report/report.js';
import {
  fewSeedsWarning,
  indistinguishable,
  RANKED_BY,
  ranking,
  verdict,
  withVerdicts,
} from '../../../../experiments/compare/report/verdict.js';
import type { Interval } from '../../../../experiments/statistics.js';
import { REQUEST, toyComparisonOf } from '../comparison.js';

const comparison = toyComparisonOf({ ...REQUEST, seeds: [1, 2, 3, 4, 5] });
const page = comparisonReport(comparison);

test('the page loads nothing from anywhere', (t) => {
  t.regex(page, /^<!doctype html>/);
  t.notRegex(page, /\b(src|srcset)=|<link|@import|url\(|fetch\(|import\(/);
  // The only addresses in it are those of its own sections.
  const targets = [...page.matchAll(/href="([^"]*)"/g)].map(([, target]) => target!);
  t.true(targets.length > 0 && targets.every((target) => target.startsWith('#')));
  const ids = new Set([...page.matchAll(/<section id="([^"]*)"/g)].map(([, id]) => `#${id}`));
  for (const target of targets) t.true(ids.has(target), target);
});

test('it has a section for each setting, one on density, and one on how it was measured', (t) => {
  for (const { setting, kind } of comparison.sections)
    if (kind === 'load') t.true(page.includes(`<h2>${setting.name}</h2>`));
  t.true(page.includes('<h2>Density</h2>'));
  t.true(page.includes('<h2>How it was measured</h2>'));
});

test('fixed, the noise rows, the baselines, the oracle and the load are always there', (t) => {
  for (const text of [
    'fixed, other placement',
    'fixed, other arrivals',
    'smallest-in-range',
    'random-in-range',
    'largest-in-range',
    'oracle (bound)',
    'offered load',
  ])
    t.true(page.includes(text), text);
});

test('markup is whole: every tag that opens closes, no number is none', (t) => {
  const open: string[] = [];
  for (const [, slash, name, , self] of page
    .replace(/<(style|script)>[\s\S]*?<\/\1>/g, '')
    .matchAll(/<(\/?)([a-z0-9]+)((?:"[^"]*"|[^">])*?)(\/?)>/g)) {
    if (self === '/' || name === 'meta') continue;
    if (slash === '/') t.is(open.pop(), name);
    else open.push(name!);
  }
  t.deepEqual(open, []);
  t.notRegex(page, /NaN|Infinity|undefined/);
});

test('the verdict says who wins, by how much, why, and which functions are slower', (t) => {
  const weight = comparison.sections.find(({ setting }) => setting.mode === 'weight')!;
  t.is(ranking(weight)[0]!.name, 'short-first');
  const sentences = verdict(weight, comparison.metrics);
  t.regex(
    sentences[0]!,
    /^short-first wins \(.*short activations first.*\): mean slowdown of .* 1\.\d+ → 1\.\d+, −\d/,
  );
  t.regex(sentences[1]!, /^Why: .*slower than 1\.2 x alone/);
  t.regex(sentences[2]!, /^At a price: .*response, p99/);
  t.regex(sentences[3]!, /Of 10 functions 9 are faster .* the worst off is \/guest\/dh/);
});

test('a contender not told apart from the first is named', (t) => {
  const section = comparison.sections[0]!;
  const fixed = section.rows[0]!;
  const twin = { ...section.rows.find(({ name }) => name === 'short-first')!, name: 'twin' };
  const withTwin = { ...section, rows: [...section.rows, twin] };
  t.deepEqual(
    indistinguishable(ranking(withTwin)).map(({ name }) => name),
    ['twin'],
  );
  t.regex(verdict(withTwin, comparison.metrics)[0]!, /Not told apart from it: twin/);
  const alone = { ...section, rows: [fixed, ...section.rows.filter(({ isNoise }) => isNoise)] };
  t.regex(verdict(alone, comparison.metrics)[0]!, /^No contender can be told apart from fixed/);
});

const flat = (value: number): Interval => ({ mean: value, low: value, high: value, n: 5 });

/**
 * A contender whose mean slowdown is `ratio` times that of a `fixed` of 2, with the interval of the
 * paired change.
 */
function contenderAt(fixed: Row, name: string, ratio: Interval): Row {
  const scaled = ({ mean, low, high, n }: Interval, by: (value: number) => number): Interval => ({
    mean: by(mean),
    low: by(low),
    high: by(high),
    n,
  });
  const level = scaled(ratio, (value) => 2 * value);
  const difference = scaled(ratio, (value) => 2 * (value - 1));
  return {
    ...fixed,
    name,
    figures: { ...fixed.figures, [RANKED_BY]: level },
    paired: Object.fromEntries(
      Object.keys(fixed.figures).map((key) => [
        key,
        key === RANKED_BY
          ? { difference, ratio, p: ratio.low > 1 || ratio.high < 1 ? 0.001 : 0.5 }
          : { difference: flat(0), ratio: flat(1), p: 1 },
      ]),
    ),
  };
}

function sectionOf(ratios: Readonly<Record<string, Interval>>): Section {
  const [section] = comparison.sections;
  const fixed = {
    ...section!.rows[0]!,
    figures: { ...section!.rows[0]!.figures, [RANKED_BY]: flat(2) },
  };
  const rows = Object.entries(ratios).map(([name, ratio]) => contenderAt(fixed, name, ratio));
  return { ...section!, rows: [fixed, ...rows] };
}

const SLOWER = { mean: 1.0214, low: 1.0145, high: 1.0282, n: 5 };
const ALIKE = { mean: 1.001, low: 0.99, high: 1.01, n: 5 };
const FASTER = { mean: 0.8, low: 0.75, high: 0.85, n: 5 };

test('if all contenders are slower than fixed, the verdict says so in every form', (t) => {
  const section = sectionOf({ a: SLOWER, b: SLOWER });
  const [sentence] = verdict(section, comparison.metrics);
  t.regex(
    sentence!,
    /^All 2 contenders are slower than fixed: a \+2\.14 % \(\+1\.45 to \+2\.82\); b \+2\.14 %/,
  );
  const made = { ...comparison, sections: [section] };
  t.true(comparisonReport(made).includes('All 2 contenders are slower than fixed'));
  // The overview names the best contender and its harm where it said `fixed` and a dash.
  t.regex(
    comparisonReport(made),
    /<td style="text-align:left">a<\/td>\s<td>2\.04<\/td><td class="worse">\+2\.14 %/,
  );
  t.is(withVerdicts(made).sections[0]!.verdict[0], sentence);
});

test('one that is slower is named if none is faster, and where another wins', (t) => {
  t.regex(
    verdict(sectionOf({ a: ALIKE, b: SLOWER }), comparison.metrics)[0]!,
    /^No contender is faster than fixed, and 1 of 2 is slower: b \+2\.14 %/,
  );
  const won = verdict(sectionOf({ a: FASTER, b: SLOWER }), comparison.metrics);
  t.regex(won[0]!, /^a wins/);
  t.regex(won.at(-1)!, /^Slower than fixed: b \+2\.14 %/);
  t.regex(
    verdict(sectionOf({ a: ALIKE }), comparison.metrics)[0]!,
    /^No contender can be told apart from fixed/,
  );
  t.regex(
    verdict(sectionOf({ a: SLOWER }), comparison.metrics)[0]!,
    /^The only contender is slower than fixed: a/,
  );
});

test('who fails more than fixed does not win by the mean of what succeeded', (t) => {
  const section = sectionOf({ a: FASTER, b: { mean: 0.9, low: 0.85, high: 0.95, n: 5 } });
  const rows = section.rows.map((row) =>
    row.name === 'a'
      ? {
          ...row,
          figures: { ...row.figures, 'failed.share': { mean: 0.03, low: 0.02, high: 0.04, n: 5 } },
          paired: {
            ...row.paired,
            'failed.share': {
              difference: { mean: 0.03, low: 0.02, high: 0.04, n: 5 },
              ratio: null,
              p: 0.001,
            },
          },
        }
      : row,
  );
  const sentences = verdict({ ...section, rows }, comparison.metrics);
  t.regex(sentences[0]!, /^b wins/);
  t.regex(sentences.at(-1)!, /^Faster where they succeed, but more activations fail .*: a 3 ?%/);
  const alone = verdict({ ...section, rows: rows.slice(0, 2) }, comparison.metrics);
  t.regex(alone[0]!, /^No contender can be told apart/);
  t.regex(alone.at(-1)!, /more activations fail/);
});

test('intervals from fewer than five seeds carry a warning', (t) => {
  t.regex(fewSeedsWarning(1)!, /^One seed has no intervals/);
  t.regex(fewSeedsWarning(2)!, /^2 seeds tell nothing apart/);
  t.is(fewSeedsWarning(5), null);
  const made = { ...comparison, seeds: [1, 2] };
  t.true(comparisonReport(made).includes('2 seeds tell nothing apart'));
  t.is(withVerdicts(made).warnings.length, 1);
  t.false(
    comparisonReport({ ...comparison, seeds: [1, 2, 3, 4, 5] }).includes('tell nothing apart:'),
  );
});

for (const seeds of [[1], [1, 2, 3, 4]])
  test(`${seeds.length} seeds have figures, but decide nothing`, (t) => {
    const made = toyComparisonOf({ ...REQUEST, seeds });
    for (const section of made.sections) {
      const rows = ranking(section);
      t.is(indistinguishable(rows).length, rows.length - 1);
      t.regex(verdict(section, made.metrics)[0]!, /^No contender can be told apart from fixed/);
    }
    t.notRegex(comparisonReport(made), /class="(better|worse)"/);
  });

test('of many contenders the best needs more than one comparison alone would', (t) => {
  const [section] = comparison.sections;
  const once = { mean: 0.9, low: 0.85, high: 0.95, n: 5 };
  const among = (others: number): string => {
    const { rows, ...rest } = sectionOf({
      a: once,
      ...Object.fromEntries(Array.from({ length: others }, (_, i) => [`other${i}`, ALIKE])),
    });
    return verdict({ ...section!, ...rest, rows }, comparison.metrics)[0]!;
  };
  // p = .001: below .05 / 40, and not below .05 / 51.
  t.regex(among(39), /^a wins/);
  t.regex(among(50), /^No contender can be told apart from fixed/);
});

test('names are text, never markup', (t) => {
  const [section, ...rest] = comparison.sections;
  const unsafeName = { ...section!.rows[1]!, isNoise: false, name: '<img onerror=alert(1)>' };
  const unsafeComparison: Comparison = {
    ...comparison,
    command: '"><script>',
    sections: [{ ...section!, rows: [...section!.rows, unsafeName] }, ...rest],
  };
  const text = comparisonReport(unsafeComparison);
  t.false(text.includes('<img'));
  t.is(text.split('<script>').length, 2);
  t.true(text.includes('&lt;img onerror=alert(1)&gt;'));
});

test('an error of the model is an alarm', (t) => {
  const [section, ...rest] = comparison.sections;
  const wrong: Comparison = {
    ...comparison,
    sections: [{ ...section!, beatOracle: ['greedy'] }, ...rest],
  };
  t.regex(
    comparisonReport(wrong),
    /Faster than the oracle, which is a fault of the\smodel: greedy in azure-ten/,
  );
});
