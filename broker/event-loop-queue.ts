/** Requests that are begun at once within one turn of the event loop; more of them take turns. */
const BURST = 4;

/**
 * Lets work take turns with everything else of the event loop: of a burst one piece is begun per
 * turn, so a flood of requests for one endpoint delays neither other endpoints nor what the process
 * is there for.
 */
export class EventLoopQueue {
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #started = 0;
  #scheduled = false;

  /** @param most pieces of work that may wait */
  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** False: too much waits, and this is not done. `act` must not throw. */
  run(act: () => void): boolean {
    if (this.#waiting.length >= this.#maxWaiting) return false;
    this.#schedule();
    if (this.#waiting.length === 0 && this.#started < BURST) {
      this.#started++;
      act();
    } else this.#waiting.push(act);
    return true;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const act = this.#waiting.shift();
      this.#started = act === undefined ? 0 : BURST;
      if (act === undefined) return;
      this.#schedule();
      act();
    });
  }
}
