import { type Allocation, durationOf, type PublishedFunction } from './rules.js';

export type Outcome = 'running' | 'success' | 'timeout';

/** One invocation; its allocation is copied at arrival and never changes. [Freyr-sim] */
export class Request {
  /** Order of arrival. */
  readonly order: number;
  readonly fn: PublishedFunction;
  readonly allocation: Allocation;
  /** Ticks of work. */
  readonly duration: number;
  /** Remaining ticks of cold start. */
  init = 0;
  coldTicks = 0;
  /** Ticks done, including those in a queue. */
  progress = 0;
  /** Second of its end. */
  finished = -1;
  outcome: Outcome = 'running';

  constructor(order: number, fn: PublishedFunction, allocation: Allocation) {
    this.order = order;
    this.fn = fn;
    this.allocation = allocation;
    this.duration = durationOf(fn, allocation);
  }

  /** One tick. True when it has ended; a timeout reached together with the end is a success. */
  tick(): boolean {
    if (this.init > 0) {
      this.init--;
      return false;
    }
    this.progress++;
    return this.#judge();
  }

  /**
   * A tick in a queue counts as a tick of work without a cold start. A request may time out in the
   * queue but not succeed there: that takes a server and one more tick.
   */
  tickQueued(): boolean {
    this.progress++;
    if (this.progress < this.fn.timeout || this.progress >= this.duration) return false;
    this.outcome = 'timeout';
    return true;
  }

  #judge(): boolean {
    if (this.progress >= this.duration) this.outcome = 'success';
    else if (this.progress >= this.fn.timeout) this.outcome = 'timeout';
    return this.outcome !== 'running';
  }
}
