import test from 'ava';
import { bootstrapMean, pairedWith, quantileOf } from '../../../experiments/compare/index.js';

test('a bootstrap interval: its width is that of the mean of as many draws', (t) => {
  // 400 values, half 0 and half 1: the mean's deviation is 0.5 / 20 = 0.025, so 95 % lie within
  // 1.96 x 0.025 = 0.049 of 0.5.
  const values = Array.from({ length: 400 }, (_, i) => i % 2);
  const { mean, low, high } = bootstrapMean(values);
  t.is(mean, 0.5);
  t.true(Math.abs(low - 0.451) < 0.006, String(low));
  t.true(Math.abs(high - 0.549) < 0.006, String(high));
  t.deepEqual(bootstrapMean(values), { mean, low, high }, 'the same values have the same interval');
});

test('without spread there is no interval', (t) => {
  t.deepEqual(bootstrapMean([3, 3, 3]), { mean: 3, low: 3, high: 3 });
  t.deepEqual(bootstrapMean([3]), { mean: 3, low: 3, high: 3 });
  t.deepEqual(bootstrapMean([]), { mean: 0, low: 0, high: 0 });
});

test('pairing takes out what the seeds share', (t) => {
  // Seeds differ by a factor of ten, the contender takes 10 % off each.
  const fixed = [1, 10, 100];
  const { difference, ratio } = pairedWith([0.9, 9, 90], fixed, 1e-6);
  t.true(Math.abs(ratio!.mean - 0.9) < 1e-12);
  t.true(Math.abs(ratio!.low - 0.9) < 1e-12 && Math.abs(ratio!.high - 0.9) < 1e-12);
  // -0.1, -1 and -10: mean -3.7.
  t.true(Math.abs(difference.mean + 3.7) < 1e-12);
  t.true(difference.high <= -0.1 + 1e-12, 'every resample is below zero');
});

test('no ratio to a baseline near zero', (t) => {
  t.is(pairedWith([5, 7], [0, 2], 1e-3).ratio, null);
  t.deepEqual(pairedWith([5, 7], [0, 2], 1e-3).difference.mean, 5);
  t.is(pairedWith([], [], 0).ratio, null);
});

test('quantiles lie between ranks', (t) => {
  t.is(quantileOf([1, 2, 4], 0.5), 2);
  // Rank 2 x 0.75 = 1.5: half-way from 2 to 4.
  t.is(quantileOf([1, 2, 4], 0.75), 3);
  t.is(quantileOf([], 0.5), 0);
});
