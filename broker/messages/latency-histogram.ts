import { z } from 'zod';
import { BucketRow } from '../../config/index.js';
import { count, nonNegative } from './fields.js';

/**
 * Latencies in fixed logarithmic buckets, so that histograms of hosts and steps can be added.
 * Bucket i holds (LOWEST x 2^((i-1)/8), LOWEST x 2^(i/8)] ms: 9 % wide, so a quantile is off by at
 * most 4.5 %. Bucket 0 holds all up to 0.1 ms; the last all above 0.1 x 2^(183/8) ms = 12.8 min,
 * past OpenWhisk's longest time limit (10 min).
 */
export const LATENCY_BUCKETS = 185;
const LOWEST = 0.1;
const PER_OCTAVE = 8;

/** The non-empty part: `counts[0]` belongs to bucket `first`. Sum and max in ms. */
export const latencyHistogram = z
  .object({
    first: count.max(LATENCY_BUCKETS - 1),
    counts: z.array(count).max(LATENCY_BUCKETS),
    sum: nonNegative,
    max: nonNegative,
  })
  .refine((value) => value.first + value.counts.length <= LATENCY_BUCKETS, 'has too many buckets')
  .meta({ typeLabel: 'latency histogram' });
export type LatencyHistogramMessage = z.infer<typeof latencyHistogram>;

export const bucketBound = (index: number): number => LOWEST * 2 ** (index / PER_OCTAVE);

/** Geometric middles of all buckets: each step that closes reads some. */
const MIDDLES = Float64Array.from({ length: LATENCY_BUCKETS }, (_, i) => bucketBound(i - 0.5));

export const bucketMiddle = (index: number): number => MIDDLES[index]!;

export function bucketOf(millis: number): number {
  if (!(millis > LOWEST)) return 0;
  // The epsilon keeps a bucket's bound in its bucket despite the rounding of the logarithm.
  const index = Math.ceil(Math.log2(millis / LOWEST) * PER_OCTAVE - 1e-9);
  return index >= LATENCY_BUCKETS ? LATENCY_BUCKETS - 1 : index;
}

/** The count at `place` of a histogram without a part of it. */
export function countWithout(
  { first, counts }: LatencyHistogramMessage,
  part: LatencyHistogramMessage | undefined,
  place: number,
): number {
  const count = counts[place]!;
  if (part === undefined) return count;
  const other = first + place - part.first;
  const isPart = other >= 0 && other < part.counts.length;
  return isPart ? Math.max(0, count - part.counts[other]!) : count;
}

/** A histogram without a part of it. The largest latency stays that of the whole. */
export function withoutPart(
  all: LatencyHistogramMessage,
  part: LatencyHistogramMessage | undefined,
): LatencyHistogramMessage {
  if (part === undefined) return all;
  const counts = all.counts.map((_, i) => countWithout(all, part, i));
  return { ...all, counts, sum: Math.max(0, all.sum - part.sum) };
}

const NO_LATENCIES: LatencyHistogramMessage = { first: 0, counts: [], sum: 0, max: 0 };

/** Collects latencies; memory and time grow with the buckets in use. */
export class LatencyHistogram extends BucketRow {
  count = 0;
  #sum = 0;
  /** Largest latency seen, ms. */
  max = 0;

  /** Mean, ms; 0 when empty. */
  get mean(): number {
    return this.count === 0 ? 0 : this.#sum / this.count;
  }

  /** Ignores what is not a finite, non-negative number. */
  record(millis: number): void {
    if (!(millis >= 0 && millis < Number.POSITIVE_INFINITY)) return;
    this.addTo(bucketOf(millis), 1);
    this.count++;
    this.#sum += millis;
    if (millis > this.max) this.max = millis;
  }

  /** Nearest rank: the geometric middle of its bucket, at most the largest seen; 0 when empty. */
  quantile(q: number): number {
    if (this.count === 0) return 0;
    const rank = Math.max(1, Math.ceil(q * this.count - 1e-9));
    const bucket = this.findBucketAtSum(rank);
    if (bucket < 0 || bucket === LATENCY_BUCKETS - 1) return this.max;
    const middle = bucket === 0 ? LOWEST : bucketMiddle(bucket);
    return Math.min(middle, this.max);
  }

  add({ first, counts, sum, max }: LatencyHistogramMessage): void {
    for (let i = 0; i < counts.length; i++) {
      const n = counts[i]!;
      if (n === 0) continue;
      this.addTo(first + i, n);
      this.count += n;
    }
    this.#sum += sum;
    if (max > this.max) this.max = max;
  }

  override clear(): void {
    super.clear();
    this.count = 0;
    this.#sum = 0;
    this.max = 0;
  }

  toMessage(): LatencyHistogramMessage {
    if (this.count === 0) return NO_LATENCIES;
    return {
      first: this.low,
      counts: this.toArray(),
      sum: this.#sum,
      max: this.max,
    };
  }
}
