import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import {
  interferenceFactor,
  shareCores,
  timeToThrottle,
  timeUnderQuota,
} from '../../../simulator/platform/cpu.js';

const entry = fc.record({
  weight: fc.integer({ min: 2, max: 262_144 }),
  cap: fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 16, noNaN: true })),
});

/**
 * Another way to the same: the level by bisection, so that the sum of min(cap, weight x level) is
 * what there is to give.
 */
function bruteForce(entries: { weight: number; cap: number }[], cores: number): number[] {
  const demand = entries.reduce((sum, { cap }) => sum + cap, 0);
  const given = (level: number) => entries.map(({ weight, cap }) => Math.min(cap, weight * level));
  if (demand <= cores) return entries.map(({ cap }) => cap);
  let low = 0;
  let high = cores;
  for (let i = 0; i < 200; i++) {
    const level = (low + high) / 2;
    if (given(level).reduce((sum, share) => sum + share, 0) > cores) high = level;
    else low = level;
  }
  return given(low);
}

testProp(
  'the share of the cores is the weighted max-min one, as found by brute force',
  [fc.array(entry, { minLength: 1, maxLength: 20 }), fc.double({ min: 0.5, max: 64, noNaN: true })],
  (t, entries, cores) => {
    const granted = new Float64Array(entries.length);
    const sum = shareCores(
      Float64Array.from(entries, ({ weight }) => weight),
      Float64Array.from(entries, ({ cap }) => cap),
      granted,
      entries.length,
      cores,
    );
    const expected = bruteForce(entries, cores);
    let total = 0;
    expected.forEach((share, i) => {
      t.true(Math.abs(share - granted[i]!) < 1e-6, `${i}: ${share} against ${granted[i]}`);
      t.true(granted[i]! <= entries[i]!.cap);
      total += granted[i]!;
    });
    t.true(total <= cores + 1e-9);
    t.true(Math.abs(total - sum) < 1e-6);
  },
);

test('weights 2:1 give 2/3 and 1/3, and what one cannot use goes to the other', (t) => {
  const granted = new Float64Array(2);
  shareCores(Float64Array.of(128, 64), Float64Array.of(1, 1), granted, 2, 1);
  t.true(Math.abs(granted[0]! - 2 / 3) < 1e-12);
  t.true(Math.abs(granted[1]! - 1 / 3) < 1e-12);
  t.is(shareCores(Float64Array.of(128, 64), Float64Array.of(0.25, 1), granted, 2, 1), 1);
  t.deepEqual([...granted], [0.25, 0.75]);
});

test('nobody runs on nothing', (t) => {
  t.is(shareCores(new Float64Array(0), new Float64Array(0), new Float64Array(0), 0, 4), 0);
  const granted = Float64Array.of(9);
  t.is(shareCores(Float64Array.of(5), Float64Array.of(0), granted, 1, 4), 0);
  t.is(granted[0], 0);
});

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

test('interference: nobody else, nobody slower', (t) => {
  t.is(interferenceFactor(1, 0), 1);
  t.is(interferenceFactor(1, 0.5), 1 / 1.5);
  t.is(interferenceFactor(0, 10), 1);
});
