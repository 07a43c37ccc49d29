import test from 'ava';
import { studentQuantile } from '../../config/student.js';

test('the quantile of Student is that of the tables', (t) => {
  // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column .975.
  for (const [freedom, expected, tolerance] of [
    [1, 12.706, 1e-4],
    [2, 4.303, 1e-4],
    [3, 3.182, 1.3e-3],
    [4, 2.776, 1e-3],
    [5, 2.571, 1e-3],
    [9, 2.262, 1e-3],
    [10, 2.228, 1e-3],
    [19, 2.093, 1e-3],
    [30, 2.042, 1e-3],
    [Number.POSITIVE_INFINITY, 1.96, 1e-3],
  ] as const)
    t.true(Math.abs(studentQuantile(freedom) / expected - 1) < tolerance, `${freedom}`);
});
