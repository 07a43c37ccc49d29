import test from 'ava';
import { comparisonReport } from '../../../cli/compare/report.js';
import { notToldApart, ranking, verdict } from '../../../cli/compare/verdict.js';
import type { Comparison } from '../../../simulator/index.js';
import { toyComparison } from '../../simulator/compare/comparison.js';

const comparison = toyComparison();
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

test('fixed, fixed against fixed, the floors, the oracle and the offered load are always there', (t) => {
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

test('the verdict says who wins, by how much, why, and who pays', (t) => {
  const weight = comparison.sections.find(({ setting }) => setting.mode === 'weight')!;
  t.is(ranking(weight)[0]!.name, 'short-first');
  const sentences = verdict(weight, comparison.metrics);
  t.regex(
    sentences[0]!,
    /^short-first wins \(.*short calls first.*\): mean slowdown of waiting and running 1\.\d+ → 1\.\d+, −\d/,
  );
  t.regex(sentences[1]!, /^Why: .*slower than 1\.2 x alone/);
  t.regex(sentences[2]!, /^At a price: .*response, p99/);
  t.regex(sentences[3]!, /Of 10 functions 9 are faster .* the worst off is \/guest\/dh/);
});

test('who is not told apart from the first is named; nobody wins against fixed by chance', (t) => {
  const section = comparison.sections[0]!;
  const fixed = section.rows[0]!;
  const twin = { ...section.rows.find(({ name }) => name === 'short-first')!, name: 'twin' };
  const withTwin = { ...section, rows: [...section.rows, twin] };
  t.deepEqual(
    notToldApart(ranking(withTwin)).map(({ name }) => name),
    ['twin'],
  );
  t.regex(verdict(withTwin, comparison.metrics)[0]!, /Not told apart from it: twin/);
  const alone = { ...section, rows: [fixed, ...section.rows.filter(({ isNoise }) => isNoise)] };
  t.regex(verdict(alone, comparison.metrics)[0]!, /^Nobody is told apart from fixed/);
});

test('names are text, never markup', (t) => {
  const [section, ...rest] = comparison.sections;
  const evil = { ...section!.rows[0]!, name: '<img onerror=alert(1)>' };
  const hostile: Comparison = {
    ...comparison,
    command: '"><script>',
    sections: [{ ...section!, rows: [...section!.rows, evil] }, ...rest],
  };
  const text = comparisonReport(hostile);
  t.false(text.includes('<img'));
  t.is(text.split('<script>').length, 2);
  t.true(text.includes('&lt;img onerror=alert(1)&gt;'));
});

test('an error of the model is an alarm', (t) => {
  const [section, ...rest] = comparison.sections;
  const wrong: Comparison = { ...comparison, sections: [{ ...section!, beatOracle: ['greedy'] }, ...rest] };
  t.regex(comparisonReport(wrong), /Ahead of the oracle, which is an error of the model: greedy in azure-ten/);
});
