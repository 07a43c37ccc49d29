import type { Micros, Millis } from './units.js';

/** Time as an argument: decisions take a reading, only edges hold a clock. */
export interface Clock {
  /** Fractional milliseconds with an arbitrary zero; the only clock that may measure a span. */
  monotonic(): Millis;
  /** Microseconds since the epoch, for people and for comparing with the kernel's stamps. */
  wall(): Micros;
  /** Real time of day of a stamp, where a simulated host's clock runs faster; absent: the same. */
  timeOfDay?(stamp: Micros): Micros;
}

export const timeOfDay = (clock: Clock, stamp: Micros): Micros => clock.timeOfDay?.(stamp) ?? stamp;

/**
 * Deferred work as an argument, so that simulated hosts can run it in simulated time. A promise
 * that it returns is not awaited, and must not reject.
 */
export interface Timers {
  after(delay: Millis, run: () => void): Cancel;
  every(period: Millis, run: () => void): Cancel;
}

export type Cancel = () => void;

/** The wall clock at the start of the process, running on: it never steps. */
export const steadyClock: Clock = {
  monotonic: () => performance.now() as Millis,
  wall: () => ((performance.timeOrigin + performance.now()) * 1000) as Micros,
};

/** Two readings of `Date.now()` are a step if they differ by more than it can round. */
const ROUNDING = 2000;

/** Follows `now` (us, whole milliseconds) when it steps, with the steady clock's resolution. */
export function wallClock(steady: Clock, now: () => number): Clock {
  let shift = 0;
  return {
    monotonic: () => steady.monotonic(),
    wall: () => {
      const at = steady.wall();
      const off = now() - at;
      if (Math.abs(off - shift) > ROUNDING) shift = off;
      return (at + shift) as Micros;
    },
  };
}

/** What the host's clock shows, for stamps that people and other processes read. */
export const systemClock: Clock = wallClock(steadyClock, () => Date.now() * 1000);

/** `every` is unreferenced: a periodic check must never keep a stopping process alive. */
export const systemTimers: Timers = {
  after(delay, run) {
    const handle = setTimeout(run, delay);
    return () => clearTimeout(handle);
  },
  every(period, run) {
    const handle = setInterval(run, period);
    handle.unref();
    return () => clearInterval(handle);
  },
};
