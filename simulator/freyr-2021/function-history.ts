import type { Request } from './request.js';
import { type Allocation, type PublishedFunction, peakOf } from './rules.js';

/** An ended invocation in a manager's history. */
export interface PastInvocation {
  readonly order: number;
  readonly allocation: Allocation;
  readonly peak: Allocation;
  /** Ticks, a cold start included. */
  readonly completion: number;
}

/** Newest invocations that `ensure` averages over. [Freyr-sim] */
const NEWEST = 3;

/**
 * History of one function since the start: the published simulator never resets its peaks.
 * [Freyr-sim]
 */
export class FunctionHistory {
  readonly fn: PublishedFunction;
  /** In force for the function's next request. */
  allocation: Allocation;
  /** By order of arrival, newest first; at most three. */
  readonly newest: PastInvocation[] = [];
  recentPeak: Allocation = { cpu: 0, memory: 0 };
  #ended = 0;
  #completionSum = 0;

  constructor(fn: PublishedFunction) {
    this.fn = fn;
    this.allocation = fn.user;
  }

  get meanCompletion(): number {
    return this.#ended === 0 ? 0 : this.#completionSum / this.#ended;
  }

  add(request: Request): void {
    const peak = peakOf(this.fn, request.allocation);
    const completion = request.coldTicks + request.progress;
    const past = { order: request.order, allocation: request.allocation, peak, completion };
    const at = this.newest.findIndex((other) => other.order < past.order);
    this.newest.splice(at < 0 ? this.newest.length : at, 0, past);
    this.newest.length = Math.min(this.newest.length, NEWEST);
    this.#ended++;
    this.#completionSum += completion;
    if (request.outcome !== 'success') return;
    this.recentPeak = {
      cpu: Math.max(this.recentPeak.cpu, peak.cpu),
      memory: Math.max(this.recentPeak.memory, peak.memory),
    };
  }
}
