import { type Random, SeededRandom } from '../../config/index.js';

/** A mean over seeds with its 95 % interval. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** Resamples of a bootstrap: the ends of a 95 % interval then rest on 50 values each. */
const RESAMPLES = 2000;

export const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Mean and 95 % interval by the percentile bootstrap (Efron 1979). The draws come from a stream of
 * their own, so the same values have the same interval whatever else is computed. One value has no
 * spread: its interval is itself.
 */
export function bootstrapMean(
  values: readonly number[],
  random: Random = bootstrapStream(),
): Interval {
  const mean = meanOf(values);
  if (values.length < 2) return { mean, low: mean, high: mean };
  const means = new Float64Array(RESAMPLES);
  for (let i = 0; i < RESAMPLES; i++) {
    let sum = 0;
    for (let k = 0; k < values.length; k++) sum += values[random.below(values.length)]!;
    means[i] = sum / values.length;
  }
  means.sort();
  return { mean, low: quantileOf(means, 0.025), high: quantileOf(means, 0.975) };
}

const bootstrapStream = (): Random => new SeededRandom(1).fork('bootstrap');

/** Linear between ranks (type 7). */
export function quantileOf(ascending: ArrayLike<number>, share: number): number {
  if (ascending.length === 0) return 0;
  const at = (ascending.length - 1) * share;
  const low = Math.floor(at);
  const high = Math.min(ascending.length - 1, low + 1);
  return ascending[low]! + (ascending[high]! - ascending[low]!) * (at - low);
}

/** What changes against a baseline with the same seeds. */
export interface Paired {
  readonly difference: Interval;
  /** Null if a baseline is too near zero to divide by. */
  readonly ratio: Interval | null;
}

/**
 * Compares seed by seed, which removes the effect of arrivals. Both lists are in the order of the
 * seeds.
 */
export function pairedWith(
  values: readonly number[],
  baseline: readonly number[],
  nearZero: number,
): Paired {
  const difference = bootstrapMean(values.map((value, i) => value - baseline[i]!));
  const divisible = baseline.length > 0 && baseline.every((value) => Math.abs(value) > nearZero);
  return {
    difference,
    ratio: divisible ? bootstrapMean(values.map((value, i) => value / baseline[i]!)) : null,
  };
}
