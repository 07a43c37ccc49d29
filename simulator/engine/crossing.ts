import { type ActivationColumns, Phase } from './activations.js';
import { isThrottled } from './bucket.js';
import { PERIOD_MICROS, timeToThrottle } from './cfs.js';

/**
 * No use is measured over less than this, us (design §3.2): one more than 50 ms, so that no
 * rounding of milliseconds makes it less.
 */
export const WINDOW_MICROS = 50_001;

/** The safeguard watches it, and it can use enough for the safeguard to act. */
export function canCross(c: ActivationColumns, a: number): boolean {
  const trip = c.tripRate[a]!;
  return (
    trip < Number.POSITIVE_INFINITY &&
    (c.cap[a]! >= trip || c.quota[a]! > 0) &&
    c.phase[a] !== Phase.init
  );
}

/**
 * The level from which on one that shares can come to a crossing: its use so far in this window is
 * not above `tripRate`, and stays so while its share is. Infinity where there is nothing to watch.
 */
export function crossingLevel(c: ActivationColumns, a: number, now: number): number {
  if (!canCross(c, a)) return Number.POSITIVE_INFINITY;
  const trip = c.tripRate[a]!;
  const used = c.cpuUsed[a]! - c.windowCpu[a]!;
  return used <= trip * (now - c.windowAt[a]!) ? trip / c.weight[a]! : 0;
}

/**
 * When the mid-run safeguard can first see a reduced limit used up (design §3.6): as an instant,
 * not by looking every 100 ms. Use over a window of at least 50 ms reaches `tripRate` if from now
 * on it has all it can use. `alone` (nobody else slows it down): or the period ends in which its
 * quota was first used up, which is when the kernel counts it.
 */
export function crossingAt(c: ActivationColumns, a: number, now: number, alone: boolean): number {
  const cap = c.cap[a]!;
  const trip = c.tripRate[a]!;
  let at = Number.POSITIVE_INFINITY;
  if (cap >= trip) {
    // used + cap x (t - now) >= trip x (t - windowAt)
    const late = trip * (now - c.windowAt[a]!) - (c.cpuUsed[a]! - c.windowCpu[a]!);
    const from =
      late <= 0 ? now : cap > trip ? now + late / (cap - trip) : Number.POSITIVE_INFINITY;
    at = Math.ceil(Math.max(from, c.windowAt[a]! + WINDOW_MICROS));
  }
  const quota = c.quota[a]!;
  if (!alone || quota === 0) return at;
  if (isThrottled(c, a)) return Math.min(at, c.periodEnd[a]!);
  const rest = c.periodEnd[a]! - now;
  const wait = timeToThrottle(cap, quota, PERIOD_MICROS, PERIOD_MICROS - rest, c.used[a]!);
  if (wait < rest) return Math.min(at, c.periodEnd[a]!);
  return wait < Number.POSITIVE_INFINITY ? Math.min(at, c.periodEnd[a]! + PERIOD_MICROS) : at;
}
