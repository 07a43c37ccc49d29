/** The kernel's CPU limits as OpenWhisk and Docker set them: shares, and a quota a period. Pure. */
import { CFS_PERIOD_MICROS } from '../../rules/index.js';

/** Of all containers, us. */
export const PERIOD_MICROS = CFS_PERIOD_MICROS;

/** Less work than this, core-us, is none: rounding of doubles. */
export const WORK_EPSILON = 1e-6;

/** A user's CPU as a quota, core-us a period; 0 = none. */
export function quotaOf(millicores: number | null): number {
  return millicores === null ? 0 : (millicores * PERIOD_MICROS) / 1000;
}

/**
 * Time until a group that runs at a constant rate is throttled, us; Infinity if it never is.
 *
 * The kernel grants `quota` core-us at each boundary of a period and withdraws the rest; a group
 * that has none left waits for the next boundary. At a constant rate all full periods are alike, so
 * this one and the next decide.
 *
 * @param rate cores it runs on
 * @param quota core-us a period
 * @param phase us since the period began, in [0, period)
 * @param used core-us used in this period
 */
export function timeToThrottle(
  rate: number,
  quota: number,
  period: number,
  phase: number,
  used: number,
): number {
  if (rate <= 0) return Number.POSITIVE_INFINITY;
  const left = Math.max(0, quota - used);
  const rest = period - phase;
  if (rate * rest > left + WORK_EPSILON) return left / rate;
  if (rate * period > quota + WORK_EPSILON) return rest + quota / rate;
  return Number.POSITIVE_INFINITY;
}

/**
 * How long `work` takes for a group alone on the host that starts with a full bucket at a boundary
 * of its period, us. A fluid quota would be `work / (quota / period)`: for short work up to
 * `rate x period / quota` times too long.
 *
 * @param work core-us
 * @param rate cores it can run on
 * @param quota core-us a period; 0 = none
 */
export function timeUnderQuota(work: number, rate: number, quota: number, period: number): number {
  if (quota <= 0 || quota >= rate * period) return work / rate;
  // In the last period at most a full bucket is left to do.
  const fullPeriods = Math.max(0, Math.ceil(work / quota - 1e-12) - 1);
  return fullPeriods * period + (work - fullPeriods * quota) / rate;
}
