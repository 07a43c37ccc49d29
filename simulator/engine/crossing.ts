import { type ActivationColumns, Phase as PHASE } from './activations.js';
import { isThrottled } from './bucket.js';
import { PERIOD_MICROS as PERIOD, timeToThrottle } from './cfs.js';

const PERIOD_MICROS = PERIOD;
const Phase = PHASE;

/**
 * The safeguard measures no use over less than 50 ms, us; one more, so that rounding to
 * milliseconds cannot go below.
 */
export const WINDOW_MICROS = 50_001;

/** The safeguard watches it and it can use enough to trip it. */
export function canCross(c: ActivationColumns, a: number): boolean {
  const trip = c.tripRate[a]!;
  return (
    trip < Number.POSITIVE_INFINITY &&
    (c.cap[a]! >= trip || c.quota[a]! > 0) &&
    c.phase[a] !== Phase.init
  );
}

/** The level above which a sharing activation can reach a crossing. Infinity: not watched. */
export function crossingLevel(c: ActivationColumns, a: number, now: number): number {
  if (!canCross(c, a)) return Number.POSITIVE_INFINITY;
  const trip = c.tripRate[a]!;
  const used = c.cpuUsed[a]! - c.windowCpu[a]!;
  return used <= trip * (now - c.windowAt[a]!) ? trip / c.weight[a]! : 0;
}

/**
 * The first instant at which the mid-run safeguard can see a reduced limit used up, which replaces
 * sampling every 100 ms: use over a window of at least 50 ms reaches `tripRate` if it gets all it
 * can use from now on; or, if it is `alone` (nothing slows it down), the end of the period in which
 * its quota is first used up, when the kernel counts the throttling.
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
