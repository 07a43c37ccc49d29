import type { Clock } from '../../../config/index.js';

const FAILURES_TO_OPEN = 5;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

/**
 * Stops asking an engine that does not answer: after five failures in a row it is left alone for a
 * while (0.5 s, doubling to 10 s), then one call may try.
 */
export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  #pause = FIRST_PAUSE;
  #closedFrom = 0;
  #trial = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False while the engine is left alone. A caller that got true reports how it ended. */
  admit(): boolean {
    if (this.#failures < FAILURES_TO_OPEN) return true;
    if (this.#trial || this.#clock.monotonic() < this.#closedFrom) return false;
    this.#trial = true;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pause = FIRST_PAUSE;
    this.#trial = false;
  }

  failed(): void {
    this.#failures++;
    if (this.#failures < FAILURES_TO_OPEN) return;
    if (this.#trial) this.#pause = Math.min(LONGEST_PAUSE, this.#pause * 2);
    this.#trial = false;
    this.#closedFrom = this.#clock.monotonic() + this.#pause;
  }
}
