import { studentQuantile } from '../../config/index.js';

/** A mean over seeds, of ratios the geometric one, with its 95 % interval. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Mean and Student's 95 % interval of values with a normal distribution. Values of one group, if
 * `groups` is given, may depend on each other: what is independent are the groups. Without spread,
 * and of one value or group, the interval is the mean alone.
 */
export function meanInterval(
  values: readonly number[],
  groups: readonly number[] = [...values.keys()],
): Interval {
  const mean = meanOf(values);
  // Σ (value - mean) of each group. Of groups of one value, and of groups of one size, this is
  // Student's interval of the values, and of the groups' means.
  const sums = new Map<number, number>();
  values.forEach((value, i) => {
    sums.set(groups[i]!, (sums.get(groups[i]!) ?? 0) + value - mean);
  });
  const { size } = sums;
  // Rounding of the mean must not look like spread.
  if (size < 2 || values.every((value) => value === values[0]))
    return { mean, low: mean, high: mean };
  const squares = [...sums.values()].reduce((sum, one) => sum + one * one, 0);
  const standardError = Math.sqrt((squares * size) / (size - 1)) / values.length;
  const away = studentQuantile(size - 1) * standardError;
  return { mean, low: mean - away, high: mean + away };
}

/**
 * Geometric mean of ratios and Student's 95 % interval of their logarithms, as a ratio: 1/2 and 2
 * are equally far from 1. With a ratio that is not positive: `meanInterval`.
 */
export function ratioInterval(ratios: readonly number[]): Interval {
  if (!ratios.every((ratio) => ratio > 0)) return meanInterval(ratios);
  const { mean, low, high } = meanInterval(ratios.map(Math.log));
  return { mean: Math.exp(mean), low: Math.exp(low), high: Math.exp(high) };
}

/** The interval of a figure that cannot be outside of a range ends at the range's ends. */
export const clampInterval = (
  { mean, low, high }: Interval,
  least: number,
  most = Number.POSITIVE_INFINITY,
): Interval => ({ mean, low: Math.max(least, low), high: Math.min(most, high) });

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
  const divisible = baseline.length > 0 && baseline.every((value) => value > nearZero);
  return {
    difference: meanInterval(values.map((value, i) => value - baseline[i]!)),
    ratio: divisible ? ratioInterval(values.map((value, i) => value / baseline[i]!)) : null,
  };
}
