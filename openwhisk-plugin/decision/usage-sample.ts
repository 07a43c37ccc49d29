import type { Bytes, Micros, Millis } from '../../config/index.js';

/** One reading of a container's counters, from the kernel; reused by its owner. */
export interface UsageSample {
  at: Millis;
  /** CPU time used since the container started. */
  cpu: Micros;
  /** Usage less inactive page cache, which the kernel can drop. */
  workingSet: Bytes;
  /**
   * Highest usage since `resetPeak`; -1 where the kernel cannot say (v2 before 5.19, or no reset).
   */
  peak: number;
  periods: number;
  throttledPeriods: number;
  /**
   * Time runnable but waiting for a CPU, where the kernel tells (v2 pressure, schedstat), else -1.
   */
  waiting: number;
  /** Processes killed (`oom_kill`), not the times the limit was met. */
  oomKills: number;
  /** How often the memory limit was met (v1 failcnt, v2 events `max`). */
  limitHits: number;
  frozen: boolean;
}

export function emptySample(): UsageSample {
  return {
    at: 0 as Millis,
    cpu: 0 as Micros,
    workingSet: 0 as Bytes,
    peak: -1,
    periods: 0,
    throttledPeriods: 0,
    waiting: -1,
    oomKills: 0,
    limitHits: 0,
    frozen: false,
  };
}

/** As `Object.assign`, which is many times slower. */
export function copySample(from: UsageSample, into: UsageSample): void {
  into.at = from.at;
  into.cpu = from.cpu;
  into.workingSet = from.workingSet;
  into.peak = from.peak;
  into.periods = from.periods;
  into.throttledPeriods = from.throttledPeriods;
  into.waiting = from.waiting;
  into.oomKills = from.oomKills;
  into.limitHits = from.limitHits;
  into.frozen = from.frozen;
}
