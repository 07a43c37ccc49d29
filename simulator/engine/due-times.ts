import { type ActivationColumns, Due as DUE } from './activations.js';
import { timeInBucket } from './bucket.js';
import { PERIOD_MICROS as PERIOD, timeToThrottle, WORK_EPSILON as WORK_ROUNDING } from './cfs.js';
import { canCross, crossingAt } from './crossing.js';

const PERIOD_MICROS = PERIOD;
const WORK_EPSILON = WORK_ROUNDING;
const Due = DUE;

/**
 * The next event of a running activation, written into `dueAt` and `dueKind`, and for a sharing one
 * in its host's virtual time into `dueVirtual` and `virtualKind`. The columns are settled at `now`.
 */

/** If the host is not tight: its whole future is known, quota included. */
export function armUncontended(c: ActivationColumns, a: number, now: number): void {
  const left = c.stop[a]! - c.done[a]!;
  const cap = c.cap[a]!;
  if (left <= WORK_EPSILON) stopIn(c, a, now, 0);
  else stopIn(c, a, now, c.quota[a]! > 0 ? timeInBucket(c, a, cap, left) : left / cap);
  if (canCross(c, a)) watch(c, a, now, true);
}

/** If the host is tight and it runs at its cap. */
export function armAtCap(c: ActivationColumns, a: number, now: number): void {
  const cap = c.cap[a]!;
  stopIn(c, a, now, Math.max(0, c.stop[a]! - c.done[a]!) / cap);
  const quota = c.quota[a]!;
  if (quota > 0) {
    const phase = PERIOD_MICROS - (c.periodEnd[a]! - now);
    const empty = now + Math.ceil(timeToThrottle(cap, quota, PERIOD_MICROS, phase, c.used[a]!));
    if (empty < c.dueAt[a]!) {
      c.dueAt[a] = empty;
      c.dueKind[a] = Due.throttle;
    }
  }
  if (canCross(c, a)) watch(c, a, now, false);
}

/**
 * If the host is tight and it runs at weight x level; `virtual`: the host's virtual time now.
 * `bucket` and `crossing`: whether the level can empty the bucket and reach the crossing.
 */
export function armSharing(
  c: ActivationColumns,
  a: number,
  now: number,
  virtual: number,
  bucket: boolean,
  crossing: boolean,
): void {
  const weight = c.weight[a]!;
  c.settledVirtual[a] = virtual;
  c.dueVirtual[a] = virtual + Math.max(0, c.stop[a]! - c.done[a]!) / weight;
  c.virtualKind[a] = Due.stop;
  if (bucket) {
    const empty = virtual + Math.max(0, c.quota[a]! - c.used[a]!) / weight;
    if (empty < c.dueVirtual[a]!) {
      c.dueVirtual[a] = empty;
      c.virtualKind[a] = Due.throttle;
    }
  }
  c.dueAt[a] = c.deadline[a]!;
  c.dueKind[a] = Due.deadline;
  if (crossing) watch(c, a, now, false);
}

/**
 * The level above which a sharing activation can empty its bucket, in this partly used period or in
 * a full one. Infinity: no quota binds.
 */
export function bindingLevel(c: ActivationColumns, a: number, now: number): number {
  const quota = c.quota[a]!;
  if (quota === 0) return Number.POSITIVE_INFINITY;
  const rest = c.periodEnd[a]! - now;
  const here = rest > 0 ? Math.max(0, quota - c.used[a]!) / rest : quota / PERIOD_MICROS;
  return Math.min(here, quota / PERIOD_MICROS) / c.weight[a]!;
}

/** At the same instant the end of the work wins over the time limit. */
function stopIn(c: ActivationColumns, a: number, now: number, wait: number): void {
  const at = now + Math.ceil(wait - WORK_EPSILON);
  const deadline = c.deadline[a]!;
  if (at <= deadline) {
    c.dueAt[a] = at;
    c.dueKind[a] = Due.stop;
  } else {
    c.dueAt[a] = deadline;
    c.dueKind[a] = Due.deadline;
  }
}

function watch(c: ActivationColumns, a: number, now: number, alone: boolean): void {
  const at = crossingAt(c, a, now, alone);
  if (at >= c.dueAt[a]!) return;
  c.dueAt[a] = at;
  c.dueKind[a] = Due.crossing;
}
