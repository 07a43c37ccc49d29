import {
  type ActivationRecorder,
  ClusterOutcome,
  type SimulatedActivation,
} from '../../simulator/engine/index.js';

/**
 * Calls of one function: when they came, and how much slower than without contention they were
 * served.
 */
export class NewFunctionActivationLog implements ActivationRecorder {
  /** ms of simulated time, in order of ending. */
  readonly arrivals: number[] = [];
  /** Of waiting and running (compare/slowdowns.ts); infinite for a call that failed. */
  readonly slowdowns: number[] = [];
  readonly #fn: number;

  constructor(fn: number) {
    this.#fn = fn;
  }

  record(call: SimulatedActivation): void {
    if (call.fn !== this.#fn) return;
    const served = call.placedAt - call.arrivedAt + call.endedAt - call.runAt;
    this.arrivals.push(call.arrivedAt / 1000);
    this.slowdowns.push(
      call.outcome === ClusterOutcome.success
        ? Math.max(1, served / call.soloMicros)
        : Number.POSITIVE_INFINITY,
    );
  }

  /** Of the calls that came from `from` on and before `to`, ascending. */
  between(from: number, to: number): number[] {
    return this.slowdowns
      .filter((_, i) => this.arrivals[i]! >= from && this.arrivals[i]! < to)
      .sort((a, b) => a - b);
  }
}
