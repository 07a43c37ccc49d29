import type { ComparisonView } from '../wire.js';

/** Shown for an unknown value. */
export const NONE = '–';

/** A figure and its unit stay on one line. */
const unbroken = (text: string): string => text.replaceAll(' ', '\u00a0');

const real = (value: number | null | undefined): value is number =>
  typeof value === 'number' && Number.isFinite(value);

/** Millicores as cores: `0.25`, `2`. */
export const cores = (millicores: number | null | undefined): string =>
  real(millicores) ? number(millicores / 1000) : NONE;

/** At most three significant digits; thousands and millions shortened. */
export function number(value: number | null | undefined): string {
  if (!real(value)) return NONE;
  const size = Math.abs(value);
  if (size >= 1e6) return unbroken(`${trim((value / 1e6).toFixed(size < 1e7 ? 2 : 1))} M`);
  if (size >= 1e4) return unbroken(`${trim((value / 1e3).toFixed(size < 1e5 ? 1 : 0))} k`);
  if (size >= 100) return String(Math.round(value));
  if (size >= 10) return trim(value.toFixed(1));
  return trim(value.toFixed(2));
}

const trim = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

export function memory(bytes: number | null | undefined): string {
  if (!real(bytes)) return NONE;
  const mebibytes = bytes / 1_048_576;
  return unbroken(
    mebibytes >= 1024
      ? `${trim((mebibytes / 1024).toFixed(1))} GiB`
      : `${Math.round(mebibytes)} MiB`,
  );
}

/** A duration in ms in a unit that suits its size. */
export function span(millis: number | null | undefined): string {
  if (!real(millis)) return NONE;
  return millis === 0 ? '0' : unbroken(spanText(millis));
}

function spanText(millis: number): string {
  if (millis < 10) return `${trim(millis.toFixed(1))} ms`;
  if (millis < 1000) return `${Math.round(millis)} ms`;
  if (millis < 60_000) return `${trim((millis / 1000).toFixed(millis < 10_000 ? 2 : 1))} s`;
  if (millis < 3_600_000) return `${Math.round(millis / 60_000)} min`;
  if (millis < 172_800_000) return `${trim((millis / 3_600_000).toFixed(1))} h`;
  return `${trim((millis / 86_400_000).toFixed(1))} days`;
}

export const percent = (share: number | null | undefined, digits = 0): string =>
  real(share) ? unbroken(`${trim((share * 100).toFixed(digits))} %`) : NONE;

export const times = (factor: number | null | undefined): string =>
  real(factor) ? `×${trim(factor.toFixed(2))}` : NONE;

/** `−12 %`, `+3.4 %`: the change that a ratio means; a ratio below 1 is faster. */
export function change(ratio: number | null | undefined): string {
  if (!real(ratio)) return NONE;
  const size = Math.abs(ratio - 1) * 100;
  const text = size >= 10 ? size.toFixed(0) : trim(size.toFixed(1));
  return unbroken(text === '0' ? '0 %' : `${ratio < 1 ? '−' : '+'}${text} %`);
}

/** `1 container`, `2 containers`. */
export const counted = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? '' : 's'}`;

const two = (value: number): string => String(value).padStart(2, '0');

/** `2026-11-29` if that is not today, otherwise empty; local time. */
export function otherDay(seconds: number, now = Date.now() / 1000): string {
  const day = dayOf(new Date(seconds * 1000));
  return day === dayOf(new Date(now * 1000)) ? '' : day;
}

/** `2026-11-29`, local time. */
export const dayOf = (date: Date): string =>
  `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

/** `14:03:07`, or `2026-11-29 14:03:07` if that is not today; local time. */
export const clock = (seconds: number, now?: number): string =>
  `${otherDay(seconds, now)} ${new Date(seconds * 1000).toTimeString().slice(0, 8)}`.trim();

/** `2026-11-29 14:03:07 +01:00`, for titles; empty for an unknown time. */
export function instant(seconds: number): string {
  const date = new Date(seconds * 1000);
  const offset = -date.getTimezoneOffset();
  if (Number.isNaN(offset)) return '';
  const zone = `${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
  return `${dayOf(date)} ${date.toTimeString().slice(0, 8)} ${offset < 0 ? '-' : '+'}${zone}`;
}

export function ago(seconds: number): string {
  if (seconds < 2) return 'now';
  return `${span(Math.round(seconds) * 1000)} ago`;
}

/** An identifier as words: underscores and dashes become spaces. */
export const words = (text: string): string => text.replaceAll(/[_-]/g, ' ');

/** `/guest/thumbs/resize` → `/guest/thumbs/` and `resize`. */
export function nameParts(name: string): readonly [string, string] {
  const slash = name.lastIndexOf('/');
  return [name.slice(0, slash + 1), name.slice(slash + 1)];
}

/** Interval and sample counts of a comparison, or how many control samples there are so far. */
export function comparisonBasis({
  ratio,
  low,
  high,
  activations,
  controlSamples,
  needed,
}: ComparisonView): string {
  if (ratio === null) return `${controlSamples} of ${needed} control samples`;
  const samples = `n ${number(activations)} / ${number(controlSamples)}`;
  return `${change(low)} to ${change(high)}, ${unbroken(samples)}`;
}

/** Without the unit, for columns that have it in their heading. */
export const mebibytes = (bytes: number | null | undefined): string =>
  real(bytes) ? String(Math.round(bytes / 1_048_576)) : NONE;
