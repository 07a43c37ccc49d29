/** Branded numbers: CPU, memory and time meet in every decision and must not be mixed. */
type Unit<Name extends string> = number & { readonly __unit: Name };

/** CPU: 1000 = one core. May be fractional. */
export type Millicores = Unit<'Millicores'>;
/** Memory, in bytes. Always an integer below 2^53. */
export type Bytes = Unit<'Bytes'>;
/** A span of time or a reading of a monotonic clock, in milliseconds; may be fractional. */
export type Millis = Unit<'Millis'>;
/** A span or wall-clock time since the epoch, microseconds: 2^53 of them are the year 2255. */
export type Micros = Unit<'Micros'>;

export const millicores = (value: number): Millicores => value as Millicores;
export const bytes = (value: number): Bytes => value as Bytes;
export const millis = (value: number): Millis => value as Millis;
export const micros = (value: number): Micros => value as Micros;

export const coresToMillicores = (cores: number): Millicores => (cores * 1000) as Millicores;
export const MIB = 1024 * 1024;
export const mebibytes = (count: number): Bytes => Math.round(count * MIB) as Bytes;
export const millisToMicros = (value: Millis): Micros => (value * 1000) as Micros;

const SIGNIFICANT_DIGITS = 9;

/** Drops the digits that floating-point arithmetic adds: 766.6666666671317 is 766.666667. */
export function significant(value: number): number {
  if (Number.isInteger(value) || !Number.isFinite(value)) return value;
  return Math.abs(value) >= 10 ** SIGNIFICANT_DIGITS
    ? Math.round(value)
    : Number(value.toPrecision(SIGNIFICANT_DIGITS));
}
