import { isChanged, type Paired } from '../../statistics.js';
import type { MetricInfo } from '../comparison.js';

/** Three digits that matter; never an exponent. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  const rounded = Number(value.toPrecision(3));
  const size = Math.abs(rounded);
  if (Number.isInteger(rounded)) return rounded.toFixed(0);
  return rounded.toFixed(size >= 10 ? 1 : size >= 0.1 ? 2 : 3);
}

/** A share of one as a percentage. */
export const percentage = (share: number): string => `${figure(100 * share)} %`;

/** For axes: no more digits than the number has. */
export const tickPercentage = (share: number): string =>
  `${Number((100 * share).toPrecision(3))} %`;

/** A value with its unit, as its metric has it. */
export function valueText(value: number, { unit }: Pick<MetricInfo, 'unit'>): string {
  if (unit === 'share') return percentage(value);
  if (unit === 'ms' && Math.abs(value) >= 10_000) return `${figure(value / 1000)} s`;
  return unit === '' ? figure(value) : `${figure(value)} ${unit}`;
}

const signed = (text: string, value: number): string =>
  value > 0 ? `+${text}` : text.replace('-', '−');

/** `−12 % (−14 to −10)`, a difference where a ratio would divide by next to nothing. */
export function changeText(
  { ratio, difference }: Paired,
  metric: Pick<MetricInfo, 'unit'>,
): string {
  if (ratio !== null) {
    const part = (value: number): string => signed(`${figure(100 * (value - 1))}`, value - 1);
    return `${part(ratio.mean)} % (${part(ratio.low)} to ${part(ratio.high)})`;
  }
  const points = metric.unit === 'share' ? 100 : 1;
  const part = (value: number): string => signed(figure(points * value), value);
  const unit = metric.unit === 'share' ? ' points' : metric.unit === '' ? '' : ` ${metric.unit}`;
  return `${part(difference.mean)}${unit} (${part(difference.low)} to ${part(difference.high)})`;
}

export type ChangeRating = 'better' | 'worse' | 'alike' | 'neutral';

/** Of what `changeText` shows; `changed`: whether seeds tell it apart, by default on its own. */
export function judge(
  change: Paired,
  { better }: Pick<MetricInfo, 'better'>,
  changed = isChanged(change),
): ChangeRating {
  if (better === null) return 'neutral';
  if (!changed) return 'alike';
  const { ratio, difference } = change;
  const isLower = ratio === null ? difference.mean < 0 : ratio.mean < 1;
  return isLower === (better === 'lower') ? 'better' : 'worse';
}
