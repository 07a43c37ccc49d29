/** Requests that start within one turn of the event loop; more start one per turn. */
const BURST = 4;

/** Starts one piece of work per turn, so that a flood of requests does not delay others. */
export class EventLoopQueue {
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #started = 0;
  #scheduled = false;

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** False if too much work waits; then `act` is dropped. `act` must not throw. */
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
