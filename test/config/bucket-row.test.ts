import test from 'ava';
import fc from 'fast-check';
import { BucketRow } from '../../config/index.js';

/** The plain way: one place for every bucket there could be. */
class AllBuckets {
  readonly amounts = new Float64Array(400);
  findBucketAtSum(minSum: number): number {
    let sum = 0;
    for (let i = 0; i < 400; i++) {
      sum += this.amounts[i]!;
      if (sum >= minSum) return i;
    }
    return -1;
  }
}

const steps = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        bucket: fc.integer({ min: 0, max: 399 }),
        amount: fc.integer({ min: 1, max: 9 }),
      }),
    },
    { weight: 1, arbitrary: fc.constant('clear' as const) },
    { weight: 1, arbitrary: fc.constant('halve' as const) },
  ),
  { maxLength: 60 },
);

test('a row of buckets equals one number per bucket after adding, scaling and clearing', (t) => {
  fc.assert(
    fc.property(steps, (list) => {
      const row = new BucketRow();
      const all = new AllBuckets();
      for (const step of list) {
        if (step === 'clear') {
          row.clear();
          all.amounts.fill(0);
        } else if (step === 'halve') {
          row.scale(0.5);
          for (let i = 0; i < 400; i++) all.amounts[i] = all.amounts[i]! * 0.5;
        } else {
          row.addTo(step.bucket, step.amount);
          all.amounts[step.bucket] = all.amounts[step.bucket]! + step.amount;
        }
      }
      const used = [...all.amounts.keys()].filter((i) => all.amounts[i]! > 0);
      const places = Array.from({ length: row.size }, (_, place) => place);
      t.deepEqual(
        places.map((place) => [row.bucketAt(place), row.amountAt(place)]),
        used.map((bucket) => [bucket, all.amounts[bucket]!]),
      );
      if (used.length === 0) t.deepEqual([row.high < row.low, row.toArray()], [true, []]);
      else {
        t.deepEqual([row.low, row.high], [used[0]!, used.at(-1)!]);
        t.deepEqual(row.toArray(), [...all.amounts.slice(row.low, row.high + 1)]);
      }
      const total = all.amounts.reduce((sum, amount) => sum + amount, 0);
      // Halves of small integers: any order of addition gives the same sum.
      for (const from of [0, 1, 7, row.size])
        t.is(
          row.sumFrom(from),
          used.slice(from).reduce((sum, bucket) => sum + all.amounts[bucket]!, 0),
        );
      for (const share of [0.01, 0.5, 0.99, 1, 1.1]) {
        const minSum = share * Math.max(total, 1);
        t.is(row.findBucketAtSum(minSum), all.findBucketAtSum(minSum));
      }
    }),
    { numRuns: 200 },
  );
});
