import { type Allocation, durationOf, type PublishedFunction } from './rules.js';

export type Outcome = 'running' | 'success' | 'timeout';

/** One invocation; its allocation is copied at arrival and never changes (faasrm.md §3.2). */
export class Request {
  /** Order of arrival. */
  readonly order: number;
  readonly fn: PublishedFunction;
  readonly allocation: Allocation;
  /** Ticks that it has to make. */
  readonly duration: number;
  /** Ticks of cold start still to come. */
  init = 0;
  coldTicks = 0;
  /** Ticks made, those in a queue included. */
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
   * A tick in a queue is a tick of work, only without a cold start (§3.3). There it may time out,
   * but not leave with success: that waits for a place, and one more tick.
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
