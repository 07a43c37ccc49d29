import type { ActivationColumns } from './activations.js';
import { PERIOD_MICROS as PERIOD, WORK_EPSILON as WORK_ROUNDING } from './cfs.js';

const PERIOD_MICROS = PERIOD;
const WORK_EPSILON = WORK_ROUNDING;

/**
 * The kernel's quota in closed form: `quota` core-us at each boundary of a period, nothing carried
 * over. At a constant rate all full periods are alike, so a long run takes no more operations than
 * a short one.
 */

/**
 * CPU time that an activation at a constant `rate` gets in `span` us; updates its bucket. In each
 * period it has the rest of the bucket and then waits for the boundary.
 */
export function drawFromBucket(
  c: ActivationColumns,
  a: number,
  rate: number,
  from: number,
  span: number,
): number {
  const quota = c.quota[a]!;
  const used = c.used[a]!;
  const rest = c.periodEnd[a]! - from;
  if (span < rest) {
    const cpu = Math.min(rate * span, Math.max(0, quota - used));
    c.used[a] = used + cpu;
    return cpu;
  }
  const first = Math.min(rate * rest, Math.max(0, quota - used));
  const left = span - rest;
  const full = Math.floor(left / PERIOD_MICROS);
  // The kernel counts a throttled period when it ends.
  if (used + rate * rest > quota + WORK_EPSILON) c.throttled[a] = c.throttled[a]! + 1;
  if (rate * PERIOD_MICROS > quota + WORK_EPSILON) c.throttled[a] = c.throttled[a]! + full;
  const last = Math.min(rate * (left - full * PERIOD_MICROS), quota);
  c.used[a] = last;
  c.periodEnd[a] = c.periodEnd[a]! + (full + 1) * PERIOD_MICROS;
  return first + full * Math.min(rate * PERIOD_MICROS, quota) + last;
}

/** Time until `cpu` core-us more are used at a constant `rate` from `settledAt` on, us. */
export function timeInBucket(c: ActivationColumns, a: number, rate: number, cpu: number): number {
  const quota = c.quota[a]!;
  const rest = c.periodEnd[a]! - c.settledAt[a]!;
  const first = Math.min(rate * rest, Math.max(0, quota - c.used[a]!));
  if (cpu <= first) return cpu / rate;
  const more = cpu - first;
  const each = Math.min(rate * PERIOD_MICROS, quota);
  // In the last period at most a full bucket is left to do.
  const full = Math.max(0, Math.ceil((more - WORK_EPSILON) / each) - 1);
  return rest + full * PERIOD_MICROS + (more - full * each) / rate;
}

/** Its bucket is empty. Only if a quota binds. */
export function isThrottled(c: ActivationColumns, a: number): boolean {
  return c.quota[a]! > 0 && c.used[a]! >= c.quota[a]! - WORK_EPSILON;
}

/** The period that `now` lies in, for a container whose periods began at `epoch`. */
export function periodEndAt(epoch: number, now: number): number {
  return epoch + (Math.floor((now - epoch) / PERIOD_MICROS) + 1) * PERIOD_MICROS;
}
