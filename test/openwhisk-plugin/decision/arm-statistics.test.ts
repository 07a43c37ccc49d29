import test from 'ava';
import { DurationStatistics } from '../../../openwhisk-plugin/decision/arm-statistics.js';

const HALF_LIFE = 1000;

test('an older sample counts half after one half-life, in means, variance and weight', (t) => {
  const arm = new DurationStatistics();
  arm.add(100, 0, HALF_LIFE);
  arm.add(400, HALF_LIFE, HALF_LIFE);
  // Weights .5 and 1: (50 + 400) / 1.5 = 300; logarithms alike.
  t.is(arm.weight, 1.5);
  t.is(arm.count, 2);
  t.is(arm.mean, 300);
  const [low, high] = [Math.log(100), Math.log(400)];
  const logMean = (low / 2 + high) / 1.5;
  t.true(Math.abs(arm.logMean - logMean) < 1e-12);
  const variance = ((low * low) / 2 + high * high) / 1.5 - logMean * logMean;
  t.true(Math.abs(arm.logVariance - variance) < 1e-12);
});

test('what has no duration is no sample', (t) => {
  const arm = new DurationStatistics();
  for (const duration of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
    arm.add(duration, 0, HALF_LIFE);
  t.deepEqual([arm.weight, arm.count], [0, 0]);
  t.is(arm.mean, Number.NaN);
});

test('the ratio of two arms is the ratio of their means, and unknown while one is empty', (t) => {
  const [one, other] = [new DurationStatistics(), new DurationStatistics()];
  one.add(150, 0, HALF_LIFE);
  t.is(one.ratioTo(other), Number.NaN);
  other.add(100, 0, HALF_LIFE);
  t.is(one.ratioTo(other), 1.5);
  one.forget();
  t.deepEqual([one.weight, one.count], [0, 0]);
  t.is(one.ratioTo(other), Number.NaN);
});
