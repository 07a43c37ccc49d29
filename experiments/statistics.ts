import type { Random } from '../config/index.js';
import { studentQuantile, studentTails } from '../rules/index.js';

/*
 * Figures over seeds, rounds or activations, for studies and benches. A figure of no values is NaN:
 * it is shown as missing, and no comparison with it holds.
 */

export const sum = (values: readonly number[]): number =>
  values.reduce((all, value) => all + value, 0);

export const mean = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : sum(values) / values.length;

/** Linear between ranks (type 7), of ascending values. */
export function quantileOf(ascending: ArrayLike<number>, share: number): number {
  if (ascending.length === 0) return Number.NaN;
  const at = (ascending.length - 1) * share;
  const low = Math.floor(at);
  const high = Math.min(ascending.length - 1, low + 1);
  return ascending[low]! + (ascending[high]! - ascending[low]!) * (at - low);
}

/** The same of values in any order. */
export const quantile = (values: readonly number[], share: number): number =>
  quantileOf(
    [...values].sort((a, b) => a - b),
    share,
  );

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Standard deviation of a sample: NaN of less than two values. */
export function deviation(values: readonly number[]): number {
  if (values.length < 2) return Number.NaN;
  const center = mean(values);
  return Math.sqrt(sum(values.map((value) => (value - center) ** 2)) / (values.length - 1));
}

/**
 * Percentile bootstrap: the 95 % interval of a statistic that is no mean, over resamples of
 * `values`. It spans only the values that there are. That of a median over five is about from the
 * least to the largest, which has the true median in 1 - 2 / 2^5 = 94 % of cases; over three, in
 * 75 %.
 */
export function bootstrapInterval(
  values: readonly number[],
  statistic: (sample: readonly number[]) => number,
  random: Random,
  resamples = 2000,
): { low: number; high: number } {
  const results: number[] = [];
  for (let i = 0; i < resamples; i++) {
    results.push(statistic(values.map(() => values[random.below(values.length)]!)));
  }
  return { low: quantile(results, 0.025), high: quantile(results, 0.975) };
}

/** A mean over seeds, of ratios the geometric one, with its 95 % interval. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  /** Independent values behind it: seeds, or groups of values that depend on each other. */
  readonly n: number;
}

/** Mean, its standard error and the number of independent values; see `meanInterval`. */
function estimate(
  values: readonly number[],
  groups: readonly number[] = [...values.keys()],
): { center: number; error: number; n: number } {
  const center = mean(values);
  // Σ (value - mean) of each group. Of groups of one value, and of groups of one size, this is
  // Student's interval of the values, and of the groups' means.
  const sums = new Map<number, number>();
  values.forEach((value, i) => {
    sums.set(groups[i]!, (sums.get(groups[i]!) ?? 0) + value - center);
  });
  const n = sums.size;
  // Rounding of the mean must not look like spread.
  if (n < 2 || values.every((value) => value === values[0])) return { center, error: 0, n };
  const squares = sum([...sums.values()].map((one) => one * one));
  return { center, error: Math.sqrt((squares * n) / (n - 1)) / values.length, n };
}

/**
 * Mean and Student's 95 % interval of values with a normal distribution. Values of one group, if
 * `groups` is given, may depend on each other: what is independent are the groups. Without spread,
 * and of one value or group, the interval is the mean alone.
 */
export function meanInterval(values: readonly number[], groups?: readonly number[]): Interval {
  const { center, error, n } = estimate(values, groups);
  const away = error === 0 ? 0 : studentQuantile(n - 1) * error;
  return { mean: center, low: center - away, high: center + away, n };
}

/**
 * Geometric mean of ratios and Student's 95 % interval of their logarithms, as a ratio: 1/2 and 2
 * are equally far from 1. With a ratio that is not positive: `meanInterval`.
 */
export function ratioInterval(ratios: readonly number[]): Interval {
  if (!ratios.every((ratio) => ratio > 0)) return meanInterval(ratios);
  const { mean: center, low, high, n } = meanInterval(ratios.map(Math.log));
  return { mean: Math.exp(center), low: Math.exp(low), high: Math.exp(high), n };
}

/** The interval of a figure that cannot be outside of a range ends at the range's ends. */
export const clampInterval = (
  { low, high, ...rest }: Interval,
  least: number,
  most = Number.POSITIVE_INFINITY,
): Interval => ({ ...rest, low: Math.max(least, low), high: Math.min(most, high) });

/**
 * Fewer seeds tell nothing apart. Student's interval assumes normal values, which two or three do
 * not show; its quantile is 12.7 with two seeds, 4.3 with three, 2.8 with five, 2 with many.
 */
export const MIN_SEEDS = 5;

/**
 * Is a figure told apart from another as the smaller one? Their intervals do not touch, and both
 * are of the same number of seeds, at least `MIN_SEEDS`; the caller takes the same seeds for both.
 * A number is an exact bound.
 */
export function isBelow(a: Interval | number, b: Interval | number): boolean {
  const sizes = [a, b].flatMap((side) => (typeof side === 'number' ? [] : [side.n]));
  if (sizes.some((n) => n < MIN_SEEDS || n !== sizes[0])) return false;
  return (typeof a === 'number' ? a : a.high) < (typeof b === 'number' ? b : b.low);
}

/** What changes against a baseline with the same seeds. */
export interface Paired {
  readonly difference: Interval;
  /** Null if a baseline is too near zero to divide by. */
  readonly ratio: Interval | null;
  /**
   * Probability of a change this large, in either direction, if there is none: of the ratio, or
   * of the difference if there is no ratio.
   */
  readonly p: number;
}

/**
 * Compares seed by seed, which removes the effect of arrivals. Both lists are in the order of the
 * seeds.
 *
 * @throws RangeError if they are not of the same seeds
 */
export function pairedWith(
  values: readonly number[],
  baseline: readonly number[],
  nearZero: number,
): Paired {
  if (values.length !== baseline.length)
    throw new RangeError(`${values.length} values cannot be paired with ${baseline.length}`);
  const differences = values.map((value, i) => value - baseline[i]!);
  const divisible = baseline.length > 0 && baseline.every((value) => value > nearZero);
  const ratios = divisible ? values.map((value, i) => value / baseline[i]!) : null;
  return {
    difference: meanInterval(differences),
    ratio: ratios && ratioInterval(ratios),
    p: pOfChange(ratios === null ? differences : changesOf(ratios)),
  };
}

/** As far from zero as the ratios are from 1, on the scale of their interval. */
const changesOf = (ratios: readonly number[]): number[] =>
  ratios.map(ratios.every((ratio) => ratio > 0) ? Math.log : (ratio) => ratio - 1);

function pOfChange(changes: readonly number[]): number {
  const { center, error, n } = estimate(changes);
  if (n < 2) return 1;
  if (error === 0) return center === 0 ? 1 : 0;
  return studentTails(center / error, n - 1);
}

const SIGNIFICANT = 0.05;

/**
 * Do the seeds tell a change apart from none, with 1/`comparisons` of the 5 % (Bonferroni)?
 */
export const isChanged = ({ difference, p }: Paired, comparisons = 1): boolean =>
  difference.n >= MIN_SEEDS && p < SIGNIFICANT / comparisons;

/**
 * Which of several changes are told apart from none, so that all of the answers hold together with
 * 95 %. Holm: the least probable must be below 5 % / their number, the next below 5 % / the rest,
 * and so on; the first that is not ends it.
 */
export function changedTogether(changes: readonly Paired[]): boolean[] {
  const byP = [...changes.keys()].sort((a, b) => changes[a]!.p - changes[b]!.p);
  const first = byP.findIndex((i, rank) => !isChanged(changes[i]!, changes.length - rank));
  const changed = new Set(first < 0 ? byP : byP.slice(0, first));
  return changes.map((_, i) => changed.has(i));
}
