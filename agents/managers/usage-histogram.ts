import type { Millis } from '../../config/index.js';

/** Buckets as in [VPA]: bucket b starts at first × (ratio^b − 1) / (ratio − 1). */
export interface BucketScheme {
  readonly first: number;
  readonly ratio: number;
  readonly buckets: number;
}

function scheme(first: number, largest: number, ratio: number): BucketScheme {
  const last = Math.floor(Math.log((largest * (ratio - 1)) / first + 1) / Math.log(ratio));
  return { first, ratio, buckets: last + 2 };
}

/** From 0.01 core to 1000 cores, in millicores. */
export const CPU_BUCKETS = scheme(10, 1e6, 1.05);
/** From 10 MB to 1 TB, in bytes. */
export const MEMORY_BUCKETS = scheme(10e6, 1e12, 1.05);

/** A bucket with less weight counts as empty. */
const EPSILON = 1e-4;
/** Weights double per half-life; past this exponent the reference time moves. */
const MAX_EXPONENT = 100;

/** Immutable. Newer samples weigh more; `reference` is null before the first one. */
export interface UsageHistogram {
  readonly weights: readonly number[];
  readonly reference: Millis | null;
}

export const EMPTY_HISTOGRAM: UsageHistogram = { weights: [], reference: null };

function bucketOf(value: number, { first, ratio, buckets }: BucketScheme): number {
  if (!(value > first)) return 0;
  return Math.min(
    buckets - 1,
    Math.floor(Math.log((value * (ratio - 1)) / first + 1) / Math.log(ratio) + 1e-9),
  );
}

const bucketStart = (bucket: number, { first, ratio }: BucketScheme): number =>
  (first * (ratio ** bucket - 1)) / (ratio - 1);

/** Adds a sample; a negative weight removes an earlier sample of the same time. */
export function withSample(
  histogram: UsageHistogram,
  buckets: BucketScheme,
  value: number,
  weight: number,
  at: Millis,
  halfLife: Millis,
): UsageHistogram {
  let reference = histogram.reference ?? at;
  let weights =
    histogram.weights.length > 0
      ? [...histogram.weights]
      : new Array<number>(buckets.buckets).fill(0);
  let exponent = (at - reference) / halfLife;
  if (exponent > MAX_EXPONENT) {
    // Moved by whole half-lives, so that what is left of the exponent stays as it was.
    const halves = Math.floor(exponent);
    weights = weights.map((one) => one * 2 ** -halves);
    reference = (reference + halves * halfLife) as Millis;
    exponent -= halves;
  }
  const bucket = bucketOf(value, buckets);
  weights[bucket] = Math.max(0, weights[bucket]! + weight * 2 ** exponent);
  return { weights, reference };
}

/** End of the bucket that reaches a share `p` of the weight; NaN without weight. */
export function percentileOf(histogram: UsageHistogram, buckets: BucketScheme, p: number): number {
  const { weights } = histogram;
  const total = weights.reduce((sum, one) => sum + (one >= EPSILON ? one : 0), 0);
  if (!(total > 0)) return Number.NaN;
  let sum = 0;
  for (let bucket = 0; bucket < weights.length; bucket++) {
    if (weights[bucket]! < EPSILON) continue;
    sum += weights[bucket]!;
    if (sum < p * total * (1 - 1e-12)) continue;
    return bucketStart(bucket === buckets.buckets - 1 ? bucket : bucket + 1, buckets);
  }
  return Number.NaN;
}
