import test from 'ava';
import { growthOf } from '../../bench/growth.js';
import { SeededRandom, standardNormal } from '../../config/index.js';

const series = (values: number[], slack = 2) => ({ name: 'x', unit: 'MiB', slack, values });

test('a figure that rises over its quarters by more than its slack grows', (t) => {
  // Quarters of three: 10, 20, 30 against a slack of 2 and 5 % of 10. Of the 36 pairs 27 rise and 9
  // are ties: 26 / √((9 x 8 x 23 - 3 x 3 x 2 x 11) / 18) = 2.89 deviations.
  t.true(growthOf(series([1, 1, 1, 10, 10, 10, 20, 20, 20, 30, 30, 30])).grows);
  t.deepEqual(
    growthOf(series([1, 1, 1, 10, 10, 10, 20, 20, 20, 30, 30, 30])).quarters,
    [10, 20, 30],
  );
  // A warm-up, then a level.
  t.false(growthOf(series([1, 1, 1, 30, 30, 30, 30, 30, 30, 30, 31, 30])).grows);
  // It rises, but by less than slack and share: 100 -> 104 -> 106.9 against 2 + 5.
  t.false(growthOf(series([1, 1, 1, 100, 100, 100, 104, 104, 104, 106.9, 106.9, 106.9])).grows);
  t.true(growthOf(series([1, 1, 1, 100, 100, 100, 104, 104, 104, 107.1, 107.1, 107.1])).grows);
  // Comes and goes: 18 pairs rise and 9 fall, 8 / 9 of a deviation.
  t.false(growthOf(series([1, 1, 1, 20, 20, 20, 10, 10, 10, 30, 30, 30])).grows);
});

/** `count` samples after a warm-up of a third as many, so that they are quarters two to four. */
const after = (count: number, value: (i: number) => number): number[] => [
  ...Array.from({ length: count / 3 }, () => 1),
  ...Array.from({ length: count }, (_, i) => value(i)),
];

test('a leak grows that is no straight line', (t) => {
  const leaks = {
    'one step: the third quarter and the last are equal': (i: number) => (i < 20 ? 10 : 30),
    'late: the second quarter and the third are equal': (i: number) => Math.max(10, i - 35),
    'four steps': (i: number) => 10 + 10 * Math.floor(i / 15),
    // The median of the third quarter is below that of the second.
    'a dip on the way': (i: number) => 10 + i / 2 - (i >= 20 && i < 32 ? 20 : 0),
    'a sawtooth that grows': (i: number) => 10 + i / 2 + (i % 7),
  };
  for (const [what, value] of Object.entries(leaks))
    t.true(growthOf(series(after(60, value))).grows, what);
});

test('a sawtooth and noise do not grow', (t) => {
  for (const period of [2, 5, 7, 11, 13])
    t.false(
      growthOf(series(after(60, (i) => 10 + 20 * ((i % period) / period)))).grows,
      `${period}`,
    );
  const random = new SeededRandom(1);
  const grow = Array.from({ length: 1000 }, () =>
    growthOf(series(after(60, () => 100 + 50 * random.next()))),
  ).filter(({ grows }) => grows);
  // 1 % rise by chance, fewer by more than the slack; the share's deviation is .3 %.
  t.true(grow.length <= 20, `${grow.length} of 1000`);
});

test('noise that is correlated in time rarely grows', (t) => {
  const random = new SeededRandom(3);
  // An hour by samples every 20 s, each .9 of the one before, with a deviation of 20. From one
  // end of a block of 11 to the other the correlation is .9^11 = .3.
  const correlated = (): number[] => {
    let away = 20 * standardNormal(random);
    return after(135, () => {
      away = 0.9 * away + Math.sqrt(1 - 0.9 ** 2) * 20 * standardNormal(random);
      return 100 + away;
    });
  };
  const grow = Array.from({ length: 400 }, () => growthOf(series(correlated()))).filter(
    ({ grows }) => grows,
  );
  // 5 %, and twice the deviation of such a share of 400, 1.1 %.
  t.true(grow.length <= 29, `${grow.length} of 400`);
});

test('a rise in noise grows', (t) => {
  const random = new SeededRandom(2);
  // 50 to 60 by steps of .17, beneath noise of ± 10.
  t.true(growthOf(series(after(60, (i) => 50 + i / 6 + 20 * (random.next() - 0.5)))).grows);
});

test('what fills up to its bound does not grow; beyond it, it does', (t) => {
  const values = [1, 1, 1, 10, 10, 10, 20, 20, 20, 30, 30, 30];
  t.false(growthOf({ ...series(values), bound: 30 }).grows);
  t.true(growthOf({ ...series(values), bound: 29 }).grows);
  t.false(growthOf({ ...series([10, 20]), bound: 20 }).grows);
});

test('few looks are judged by their slack alone: the last against the first', (t) => {
  t.false(growthOf(series([10, 11, 12])).grows);
  t.true(growthOf(series([10, 11, 12.1])).grows);
  t.is(growthOf(series([10, 14, 12])).most, 14);
});
