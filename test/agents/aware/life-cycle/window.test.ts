import test from 'ava';
import { batches, returnsOf } from '../../../../agents/aware/life-cycle/demonstration.js';
import {
  bandAround,
  pooled,
  shareOf,
  windowFigures,
} from '../../../../agents/aware/life-cycle/window.js';
import { SeededRandom } from '../../../../config/index.js';

test('a window has the mean and the sample deviation of its episodes', (t) => {
  t.deepEqual(windowFigures([]), { mean: 0, spread: 0, episodes: 0 });
  t.deepEqual(windowFigures([3]), { mean: 3, spread: 0, episodes: 1 });
  // Squares of -1 and 1, over one degree of freedom.
  t.deepEqual(windowFigures([2, 4]), { mean: 3, spread: Math.sqrt(2), episodes: 2 });
});

test('a pooled spread ignores the step between two windows', (t) => {
  const both = pooled(windowFigures([2, 4]), windowFigures([102, 104, 103]));
  t.is(both.episodes, 5);
  t.is(both.mean, 63);
  // (2 + 2) squares over five episodes less two means.
  t.true(Math.abs(both.spread - Math.sqrt(4 / 3)) < 1e-12);
  t.deepEqual(pooled(windowFigures([1]), windowFigures([3])), { mean: 2, spread: 0, episodes: 2 });
});

test('a share of a return below 1 is always less', (t) => {
  t.deepEqual([shareOf(2, 0.5), shareOf(0, 0.5), shareOf(-2, 0.5)], [1, 0, -4]);
});

test('a mean is unchanged within the share or the noise, whichever is wider', (t) => {
  const band = (spread: number) =>
    bandAround(
      { mean: 10, spread, episodes: 4 },
      { servingShare: 0.9, standardErrors: 3, window: 4 },
    );
  t.deepEqual(band(0), { low: 9, high: 11 });
  // Three errors of 2 x sqrt(1/4 + 1/4).
  const noise = 6 * Math.sqrt(0.5);
  t.deepEqual(band(2), { low: 10 - noise, high: 10 + noise });
});

test('mini-batches hold each row once, in random order', (t) => {
  const some = [...batches(10, 4, new SeededRandom(3))].map((rows) => [...rows]);
  t.deepEqual(
    some.map((rows) => rows.length),
    [4, 4, 2],
  );
  const order = some.flat();
  t.deepEqual(
    [...order].sort((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  t.notDeepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  // Each of four rows comes first in a quarter of 4000 orders: four deviations are 110.
  const random = new SeededRandom(5);
  const first = [0, 0, 0, 0];
  for (let i = 0; i < 4000; i++) first[[...batches(4, 1, random)][0]![0]!]!++;
  t.true(
    first.every((count) => Math.abs(count - 1000) < 110),
    `${first}`,
  );
});

test('after an episode its mean reward repeats forever', (t) => {
  const steps = [1, 3].map((reward) => ({
    input: new Float32Array(1),
    mask: Uint8Array.of(1),
    action: 0,
    reward,
  }));
  const after = new Float32Array(1);
  // The mean 2 / (1 - .5) = 4 follows: 3 + .5 x 4 = 5, and 1 + .5 x 5 = 3.5.
  t.deepEqual([...returnsOf({ steps, after }, 0.5)], [3.5, 5]);
  t.deepEqual([...returnsOf({ steps: [], after }, 0.5)], []);
});
