import type { Clock } from '../../config/index.js';

/** A step is what two readings cannot explain: Date.now() counts whole milliseconds, and design §2 allows 5. */
const STEP = 5000;

/**
 * Notices that the wall clock was set. Kernel stamps follow the wall clock, `Clock.wall()` runs on from where it began, so after a
 * step stamps must be moved by `stepped` to be comparable with it.
 */
export class WallClockCheck {
  readonly #clock: Clock;
  readonly #wallNow: () => number;
  #offset: number;
  #stepped = 0;

  constructor(clock: Clock, wallNow: () => number) {
    this.#clock = clock;
    this.#wallNow = wallNow;
    this.#offset = wallNow() - clock.monotonic() * 1000;
  }

  /** How far the wall clock now is from where it would be had nobody set it, us. */
  get stepped(): number {
    return this.#stepped;
  }

  /** True once per step of more than 5 ms. */
  check(): boolean {
    const offset = this.#wallNow() - this.#clock.monotonic() * 1000;
    const moved = offset - this.#offset;
    if (moved > -STEP && moved < STEP) return false;
    this.#offset = offset;
    this.#stepped += moved;
    return true;
  }
}
