import test from 'ava';
import { studentQuantile, studentTails } from '../../rules/index.js';

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

test('both tails beyond a quantile of the tables have its probability', (t) => {
  // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, columns .975 and .999.
  for (const [freedom, at975, at999] of [
    [1, 12.706, 318.309],
    [2, 4.303, 22.327],
    [3, 3.182, 10.215],
    [4, 2.776, 7.173],
    [9, 2.262, 4.297],
    [10, 2.228, 4.144],
    [30, 2.042, 3.385],
  ] as const) {
    t.true(Math.abs(studentTails(at975, freedom) / 0.05 - 1) < 2e-3, `${freedom}`);
    t.true(Math.abs(studentTails(-at999, freedom) / 0.002 - 1) < 2e-3, `${freedom}`);
  }
  t.is(studentTails(0, 4), 1);
});
