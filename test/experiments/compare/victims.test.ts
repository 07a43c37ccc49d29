import test from 'ava';
import { FunctionTotals } from '../../../experiments/compare/victims.js';

const columns = (slowdown: readonly number[], successes: readonly number[] = [30, 30, 30, 5]) => ({
  names: ['a', 'b', 'c', 'rare'],
  successes: Float64Array.from(successes),
  slowdown: Float64Array.from(slowdown),
  p99Ms: Float64Array.from([50, 90, 150, 10]),
  sloMs: Float64Array.from([100, 100, 100, Number.NaN]),
});

const totals = (...all: ReturnType<typeof columns>[]): FunctionTotals => {
  const sum = new FunctionTotals();
  for (const one of all) sum.add(one);
  return sum;
};

test('who pays and who gains, against fixed', (t) => {
  const fixed = totals(columns([2, 2, 2, 2]));
  const { judged, slowedDown, spedUp, worst } = totals(columns([1, 2.4, 3, 9])).against(fixed);
  // a: 0.5, b: 1.2, c: 1.5 of fixed; five activations are too few to judge.
  t.deepEqual([judged, slowedDown, spedUp], [3, 1, 1]);
  t.deepEqual(worst[0], { name: 'c', activations: 30, fixed: 2, slowdown: 3, ratio: 1.5 });
});

test('seeds weigh by their activations, those without any not at all', (t) => {
  const sum = totals(
    columns([1, 1, 1, 1], [10, 30, 30, 5]),
    columns([4, 1, 1, 0], [20, 30, 30, 0]),
  );
  const [worst] = sum.against(totals(columns([1, 1, 1, 1]))).worst;
  // (10 x 1 + 20 x 4) / 30 = 3.
  t.is(worst!.name, 'a');
  t.is(worst!.slowdown, 3);
});

test('p99 against the objective under fixed, in order', (t) => {
  const fixed = totals(columns([1, 1, 1, 1]));
  t.deepEqual(totals(columns([1, 1, 1, 1])).objectiveRatios(fixed), [0.5, 0.9, 1.5]);
});
