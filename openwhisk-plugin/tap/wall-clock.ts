import type { Clock } from '../../config/index.js';

/** A step is what two readings cannot explain: Date.now() counts whole milliseconds, and design §2 allows 5. */
const STEP = 5000;
/** Readings that lie further apart than this, because something else ran in between, say nothing; us. */
const APART = 1000;

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
    if (!this.#isOff(this.#wallNow() - this.#clock.monotonic() * 1000)) return false;
    // Seen again between two readings of the other clock that are close together: else it was us who were held up.
    const before = this.#clock.monotonic() * 1000;
    const wall = this.#wallNow();
    const after = this.#clock.monotonic() * 1000;
    if (after - before > APART || !this.#isOff(wall - after)) return false;
    this.#stepped += wall - after - this.#offset;
    this.#offset = wall - after;
    return true;
  }

  #isOff(offset: number): boolean {
    const moved = offset - this.#offset;
    return moved <= -STEP || moved >= STEP;
  }
}
