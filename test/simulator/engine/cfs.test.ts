import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { timeToThrottle, timeUnderQuota } from '../../../simulator/engine/cfs.js';

/** The bucket, microsecond by microsecond. */
function stepwise(work: number, rate: number, quota: number, period: number): number {
  let left = work;
  let budget = quota;
  for (let at = 0; ; at++) {
    if (at % period === 0) budget = quota;
    const run = Math.min(rate, budget);
    if (left <= run + 1e-9) return at + left / rate;
    left -= run;
    budget -= run;
  }
}

testProp(
  'the closed form of a quota takes as long as the bucket does step by step',
  [
    fc.integer({ min: 1, max: 2000 }),
    fc.integer({ min: 1, max: 4 }),
    // A quota of whole steps, so that the step-wise bucket has no half-used step.
    fc.integer({ min: 1, max: 120 }),
  ],
  (t, work, rate, steps) => {
    const quota = steps * rate;
    t.true(
      Math.abs(timeUnderQuota(work, rate, quota, 100) - stepwise(work, rate, quota, 100)) < 1e-6,
    );
  },
);

test('a quota: worked by hand', (t) => {
  // ms: 80 at half a core: 50, wait to 100, 30 more.
  t.is(timeUnderQuota(80, 1, 50, 100), 130);
  // 50 just fit; 100 need two buckets and end with the second, not at the next boundary.
  t.is(timeUnderQuota(50, 1, 50, 100), 50);
  t.is(timeUnderQuota(100, 1, 50, 100), 150);
  // Two cores use a bucket of 50 in 25.
  t.is(timeUnderQuota(80, 2, 50, 100), 115);
  // No quota, and one that never binds.
  t.is(timeUnderQuota(80, 2, 0, 100), 40);
  t.is(timeUnderQuota(80, 1, 100, 100), 80);
});

test('the time to be throttled looks at this period, then at a full one', (t) => {
  // 50 a period of 100, one core, at the boundary: after 50.
  t.is(timeToThrottle(1, 50, 100, 0, 0), 50);
  // 80 into the period with 10 used: 20 more fit, then a full bucket: 20 + 50.
  t.is(timeToThrottle(1, 50, 100, 80, 10), 70);
  // 40 used at 80: only 10 left, less than the 20 to the boundary.
  t.is(timeToThrottle(1, 50, 100, 80, 40), 10);
  // Half a core never uses up half a core.
  t.is(timeToThrottle(0.5, 50, 100, 0, 0), Number.POSITIVE_INFINITY);
  t.is(timeToThrottle(0, 50, 100, 0, 50), Number.POSITIVE_INFINITY);
});
