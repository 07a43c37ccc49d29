import { aligned } from './report.js';
import { median } from './statistics.js';

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

/**
 * A figure grows if each quarter after the warm-up is above the previous one, and the last is above
 * the second by more than the slack and 5 %. With fewer than 8 values the last is compared with the
 * first, by the slack only.
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
  const quarter = (n: number): number =>
    median(
      values.slice(Math.floor((values.length * n) / 4), Math.floor((values.length * (n + 1)) / 4)),
    );
  const [second, third, last] = [quarter(1), quarter(2), quarter(3)];
  const grows =
    most > bound && third > second && last > third && last - second > slack + SHARE * second;
  return { name, unit, quarters: [second, third, last], most, grows };
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
