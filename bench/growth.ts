import { mean, median, sum } from '../experiments/statistics.js';
import { aligned } from './report.js';

/** One watched figure over time. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  /** Variation that is not growth, in the figure's unit. */
  readonly slack: number;
  /** Capacity of a buffer that drops its oldest entries; filling it up is not growth. */
  readonly bound?: number | undefined;
  readonly values: number[];
}

export interface Growth {
  readonly name: string;
  readonly unit: string;
  /** Medians of the second, third and last quarter; the first is the warm-up. */
  readonly quarters: readonly [number, number, number];
  readonly most: number;
  readonly grows: boolean;
}

/** Further variation, as a share of the level. */
const SHARE = 0.05;

/** The 99 % quantile of the standard normal distribution: of independent values, 1 % rise. */
const RISING = 2.326;

/**
 * Values after each other are correlated, so that noise has trends; means of long blocks are less
 * so.
 */
const BLOCKS = 12;

/**
 * A figure grows if its means of 12 blocks rise over the quarters after the warm-up, and the median
 * of the last is above that of the second by more than the slack and 5 %. With fewer than 8 values
 * the last is compared with the first, by the slack only.
 */
export function growthOf({
  name,
  unit,
  slack,
  bound = Number.NEGATIVE_INFINITY,
  values,
}: Series): Growth {
  const most = Math.max(...values);
  if (values.length < 8) {
    const [first, last] = [values[0] ?? Number.NaN, values.at(-1) ?? Number.NaN];
    return {
      name,
      unit,
      quarters: [first, median(values), last],
      most,
      grows: most > bound && last - first > slack,
    };
  }
  const quarters = blocksOf(values, 4).slice(1).map(median) as [number, number, number];
  const [second, , last] = quarters;
  const warm = values.slice(Math.floor(values.length / 4));
  const grows =
    most > bound &&
    last - second > slack + SHARE * second &&
    trendOf(blocksOf(warm, Math.min(BLOCKS, warm.length)).map(mean)) > RISING;
  return { name, unit, quarters, most, grows };
}

/** Blocks of equal length, in the order of time. */
const blocksOf = (values: readonly number[], count: number): (readonly number[])[] =>
  Array.from({ length: count }, (_, n) =>
    values.slice(
      Math.floor((values.length * n) / count),
      Math.floor((values.length * (n + 1)) / count),
    ),
  );

/**
 * The test for a trend of [Mann-Kendall]: how many pairs of values rise less how many fall, over
 * the deviation of that count without a trend (with ties; 1 less for continuity). It asks for no
 * straight line: steps, a late rise and a rise below noise are trends, what comes and goes is none.
 */
function trendOf(values: readonly number[]): number {
  const { length } = values;
  let rises = 0;
  for (let i = 0; i < length; i++)
    for (let j = i + 1; j < length; j++) rises += Math.sign(values[j]! - values[i]!);
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const spread = (n: number): number => (n * (n - 1) * (2 * n + 5)) / 18;
  const variance = spread(length) - sum([...counts.values()].map(spread));
  return rises > 0 ? (rises - 1) / Math.sqrt(variance) : 0;
}

export function growthTable(rows: readonly Growth[]): string {
  const figure = (value: number): string =>
    Number.isInteger(value) ? String(value) : value.toFixed(1);
  const cells = [
    ['FIGURE', 'UNIT', '2ND QUARTER', '3RD', 'LAST', 'MOST', ''],
    ...rows.map(({ name, unit, quarters, most, grows }) => [
      name,
      unit,
      ...quarters.map(figure),
      figure(most),
      grows ? 'GROWS' : '',
    ]),
  ];
  return aligned(cells);
}
