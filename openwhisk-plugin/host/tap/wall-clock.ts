import type { Clock, Micros } from '../../../config/index.js';

/** A step is what two readings cannot explain: Date.now() counts whole milliseconds. */
const STEP = 5000;
/** Readings further apart than this prove nothing, because something else ran in between; us. */
const APART = 1000;
/** Steps remembered, for stamps from before them. */
const REMEMBERED = 32;

/** The wall clock until a step: how far it was off, and the steady time of the step. */
interface Era {
  readonly stepped: number;
  readonly until: number;
}

/**
 * Notices that the wall clock was set, and converts its stamps to a clock that is never set. A
 * stamp is read after its moment, perhaps after a step, so it is converted by the offset of its own
 * moment.
 */
export class WallClockCheck {
  readonly #clock: Clock;
  readonly #wallNow: () => number;
  readonly #eras: Era[] = [];
  #stepped = 0;

  constructor(clock: Clock, wallNow: () => number) {
    this.#clock = clock;
    this.#wallNow = wallNow;
    // The clock may have been set since the start of the process, when the steady clock begins.
    const off = wallNow() - clock.wall();
    if (isStep(off)) this.#stepped = off;
  }

  /** How far the wall clock now is from where it would be without having been set, us. */
  get stepped(): number {
    return this.#stepped;
  }

  /** True once per step of more than 5 ms. */
  check(): boolean {
    if (!isStep(this.#wallNow() - this.#clock.wall() - this.#stepped)) return false;
    // Seen again between two readings of the other clock that are close together: otherwise this
    // process was held up.
    const before = this.#clock.wall();
    const wall = this.#wallNow();
    const after = this.#clock.wall();
    if (after - before > APART || !isStep(wall - after - this.#stepped)) return false;
    if (this.#eras.push({ stepped: this.#stepped, until: after }) > REMEMBERED) this.#eras.shift();
    this.#stepped = wall - after;
    return true;
  }

  /**
   * Converts a past stamp to the steady clock. A clock that was set back shows the same times
   * twice: the latest possible moment is used, because stamps are read soon.
   */
  toSteady(stamp: number): Micros {
    const present = stamp - this.#stepped;
    if (this.#eras.length === 0) return present as Micros;
    const now = this.#clock.wall();
    let latest = present <= now + STEP ? present : Number.NEGATIVE_INFINITY;
    for (const era of this.#eras) {
      const then = stamp - era.stepped;
      if (then <= era.until && then > latest) latest = then;
    }
    return Math.min(now, latest === Number.NEGATIVE_INFINITY ? now : latest) as Micros;
  }
}

function isStep(micros: number): boolean {
  return micros <= -STEP || micros >= STEP;
}
