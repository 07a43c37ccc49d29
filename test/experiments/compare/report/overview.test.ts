import test from 'ava';
import { comparisonOverview } from '../../../../experiments/compare/report/overview.js';
import { withVerdicts } from '../../../../experiments/compare/report/verdict.js';
import { toyComparison } from '../comparison.js';

const [section] = toyComparison().sections;

/** The first section in the terminal, its figures replaced for the contenders named. */
function overviewWith(
  changes: Readonly<Record<string, Readonly<Record<string, number>>>>,
  spanMs = section!.spanMs,
): string {
  const rows = section!.rows.map((row) => {
    const figures = { ...row.figures };
    for (const [key, mean] of Object.entries(changes[row.name] ?? {}))
      figures[key] = { mean, low: mean, high: mean, n: 3 };
    return { ...row, figures };
  });
  const sections = [{ ...section!, rows, spanMs }];
  return comparisonOverview(withVerdicts({ ...toyComparison(), sections }));
}

test('failures have a column if a contender fails more than .1 % of activations', (t) => {
  t.notRegex(overviewWith({}), /FAILED/);
  t.notRegex(overviewWith({ greedy: { 'failed.share': 0.001 } }), /FAILED/);
  t.regex(overviewWith({ greedy: { 'failed.share': 0.0011 } }), /FAILED/);
});

test('there is a warning if fixed itself fails more than 1 % of activations', (t) => {
  t.notRegex(overviewWith({ fixed: { 'failed.share': 0.01 } }), /activations fail under/);
  t.notRegex(overviewWith({ greedy: { 'failed.share': 0.43 } }), /activations fail under/);
  t.regex(
    overviewWith({ fixed: { 'failed.share': 0.43 } }),
    /WARNING: 43 % of activations fail under fixed/,
  );
});

test('a section says its span and how its load was reached', (t) => {
  const text = overviewWith({}, 90_000);
  t.regex(text, / in 1\.50 minutes on 1 x 2 cores; /);
  t.true(text.includes(section!.scaling));
  t.regex(section!.scaling, /gaps between activations x /);
});

test('there is a warning if the span is below three times the p99 response of fixed', (t) => {
  const long = { fixed: { 'response.p99': 6000 } };
  t.notRegex(overviewWith(long, 18_000), /WARNING/);
  t.regex(overviewWith(long, 17_900), /WARNING: arrivals span 17\.9 s, the p99 response .* is 6 s/);
});
