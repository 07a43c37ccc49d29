import test from 'ava';
import {
  changeText,
  figure,
  judge,
  valueText,
} from '../../../../experiments/compare/report/figures.js';
import { linearScale, logScale, niceStep } from '../../../../experiments/compare/report/scale.js';
import { ProgressBar } from '../../../../runtime/progress.js';

test('figures keep three digits that matter', (t) => {
  const texts = [0, 0.00321, 0.123, 1.234, 12.34, 123.4, 12_345.6, Number.NaN].map(figure);
  t.deepEqual(texts, ['0', '0.003', '0.12', '1.23', '12.3', '123', '12,346', '–']);
});

test('values have their units', (t) => {
  t.is(valueText(0.125, { unit: 'share' }), '12.5 %');
  t.is(valueText(1234, { unit: 'ms' }), '1,234 ms');
  t.is(valueText(12_340, { unit: 'ms' }), '12.3 s');
  t.is(valueText(7, { unit: 'core-s' }), '7 core-s');
});

const all = (value: number) => ({ mean: value, low: value, high: value, n: 5 });

test('changes are ratios, or differences where a ratio says nothing', (t) => {
  t.is(
    changeText(
      { ratio: { mean: 0.88, low: 0.86, high: 0.9, n: 5 }, difference: all(-1), p: 0.01 },
      { unit: '' },
    ),
    '−12 % (−14 to −10)',
  );
  t.is(
    changeText({ ratio: null, difference: all(0.25), p: 0 }, { unit: 'share' }),
    '+25 points (+25 to +25)',
  );
  t.is(changeText({ ratio: null, difference: all(-3), p: 0 }, { unit: 'ms' }), '−3 ms (−3 to −3)');
});

test('a change that may be none decides nothing', (t) => {
  const change = (mean: number, p: number) => ({
    ratio: null,
    difference: { mean, low: mean - 1, high: mean + 1, n: 5 },
    p,
  });
  t.is(judge(change(-2, 0.04), { better: 'lower' }), 'better');
  t.is(judge(change(-2, 0.04), { better: 'higher' }), 'worse');
  t.is(judge(change(2, 0.04), { better: 'lower' }), 'worse');
  t.is(judge(change(-2, 0.06), { better: 'lower' }), 'alike');
  t.is(judge(change(2, 0.04), { better: null }), 'neutral');
  t.is(judge(change(-2, 0.04), { better: 'lower' }, false), 'alike', 'as one of many');
  // The ratio is what is shown, also if seeds of very different levels leave the difference open.
  const shown = { ...change(4, 0.01), ratio: { mean: 0.9, low: 0.8, high: 0.95, n: 5 } };
  t.is(judge(shown, { better: 'lower' }), 'better');
});

test('scales map ends to ends, and their ticks lie between', (t) => {
  const linear = linearScale(0, 9.3, 50, 500);
  t.is(linear.at(0), 50);
  t.is(linear.at(9.3), 500);
  t.is(linear.at(99), 500, 'never outside');
  t.deepEqual(linear.ticks, [0, 2, 4, 6, 8]);
  const log = logScale(1, 1000, 0, 300);
  // A decade is a third.
  t.true(Math.abs(log.at(10) - 100) < 1e-9);
  t.deepEqual(log.ticks, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]);
  t.deepEqual(logScale(1, 1e5, 0, 1).ticks, [1, 10, 100, 1000, 10_000, 100_000]);
  t.deepEqual([niceStep(0.3), niceStep(1), niceStep(7)], [0.5, 1, 10]);
  t.is(linearScale(3, 3, 0, 10).at(3), 0, 'no span is no division by zero');
});

test('progress is drawn on a terminal only, and taken away at the end', (t) => {
  let text = '';
  let now = 0;
  const bar = new ProgressBar(
    (part) => {
      text += part;
    },
    true,
    () => now,
  );
  now = 1000;
  bar.update(0.25, '5 of 20 runs');
  // A second for a quarter: three are left. 28 places, 7 of them full.
  t.is(text, `\r[${'█'.repeat(7)}${'·'.repeat(21)}] 25 %  5 of 20 runs, 3 s left\u001b[K`);
  bar.update(0.25, '5 of 20 runs');
  t.is(text.split('\r').length, 2, 'nothing new, nothing written');
  // The other half as long again: 200 s, in minutes begun; then 3 x 2000 s.
  now = 200_000;
  bar.update(0.5, '');
  t.true(text.endsWith(', 4 min left\u001b[K'));
  now = 2_000_000;
  bar.update(0.25, '');
  t.true(text.endsWith(', 1 h 40 min left\u001b[K'));
  bar.end();
  t.true(text.endsWith('\r\u001b[K'));
  const silent = new ProgressBar(
    () => t.fail(),
    false,
    () => 0,
  );
  silent.update(0.5, '');
  silent.end();
});
