import test from 'ava';
import fc from 'fast-check';
import {
  bucketBound,
  bucketOf,
  LATENCY_BUCKETS,
  LatencyHistogram,
} from '../../../broker/messages/index.js';

test('a bucket holds its upper bound and not its lower one', (t) => {
  for (let i = 0; i < LATENCY_BUCKETS - 1; i++) {
    t.is(bucketOf(bucketBound(i)), i);
    t.is(bucketOf(bucketBound(i) * 1.0001), i + 1);
  }
});

test('a quantile is within half a bucket of the exact nearest-rank one', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0.2, max: 600_000, noNaN: true }), {
        minLength: 1,
        maxLength: 200,
      }),
      fc.constantFrom(0.5, 0.9, 0.99, 1),
      (values, q) => {
        const histogram = new LatencyHistogram();
        for (const value of values) histogram.record(value);
        const exact = values.toSorted((a, b) => a - b)[
          Math.max(1, Math.ceil(q * values.length - 1e-9)) - 1
        ]!;
        // Half a bucket: a factor of 2^(1/16) = 1.0443.
        const ratio = histogram.quantile(q) / exact;
        return ratio < 1.0444 && ratio > 1 / 1.0444;
      },
    ),
  );
  t.pass();
});

test('histograms of two hosts add up to the histogram of all', (t) => {
  const all = new LatencyHistogram();
  const left = new LatencyHistogram();
  const right = new LatencyHistogram();
  for (let i = 0; i < 100; i++) {
    all.record(i * i);
    (i % 3 === 0 ? left : right).record(i * i);
  }
  const sum = new LatencyHistogram();
  sum.add(left.toMessage());
  sum.add(right.toMessage());
  t.deepEqual(sum.toMessage(), all.toMessage());
  t.is(sum.count, 100);
});

test('what is not a latency is not recorded', (t) => {
  const histogram = new LatencyHistogram();
  for (const bad of [Number.NaN, -1, Number.POSITIVE_INFINITY]) histogram.record(bad);
  t.is(histogram.count, 0);
  t.deepEqual(histogram.toMessage(), { first: 0, counts: [], sum: 0, max: 0 });
});
