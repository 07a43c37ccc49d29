import type { Random } from '../config/index.js';
import { quantileOf } from '../experiments/compare/index.js';

/** Linear between ranks (type 7), of unsorted values; NaN for none. */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) return Number.NaN;
  return quantileOf(
    [...values].sort((a, b) => a - b),
    q,
  );
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const sum = (values: readonly number[]): number =>
  values.reduce((all, value) => all + value, 0);

export const mean = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : sum(values) / values.length;

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
