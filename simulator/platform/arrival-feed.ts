import type { Plan } from '../workload/index.js';

/**
 * Hands out a plan's calls one after the other, round after round where it repeats; only the next
 * one waits in the host's queue.
 */
export class ArrivalFeed {
  readonly #plan: Plan;
  #next = 0;
  #round = 0;
  /** Begin again after the last call. */
  repeat = false;
  /** The call that `advance` moved to, and its time, integer us. */
  call = 0;
  at = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** All calls have been handed out. */
  get exhausted(): boolean {
    return this.#next >= this.#plan.count && !(this.repeat && this.#plan.count > 0);
  }

  /** False where there is no further call. */
  advance(): boolean {
    if (this.exhausted) return false;
    if (this.#next >= this.#plan.count) {
      this.#next = 0;
      this.#round++;
    }
    this.call = this.#next++;
    this.at = this.#plan.arrival[this.call]! + this.#round * this.#plan.spanMicros;
    return true;
  }
}
