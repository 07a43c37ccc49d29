import test from 'ava';
import { growthOf } from '../../bench/growth.js';

const series = (values: number[], slack = 2) => ({ name: 'x', unit: 'MiB', slack, values });

test('a figure that rises in every quarter by more than its slack grows', (t) => {
  // Quarters of three: 10, 20, 30 against a slack of 2 and 5 % of 10.
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
  // Comes and goes: the last quarter is higher, the third was not.
  t.false(growthOf(series([1, 1, 1, 20, 20, 20, 10, 10, 10, 30, 30, 30])).grows);
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
