import {
  type ActivationRecorder,
  ClusterOutcome,
  type SimulatedActivation,
} from '../../simulator/engine/index.js';

/** One function's activations: when they arrived, and their slowdown against no contention. */
export class NewFunctionActivationLog implements ActivationRecorder {
  readonly #fn: number;
  readonly #timeoutMicros: number;
  /** ms of simulated time, in order of ending. */
  readonly #arrivals: number[] = [];
  readonly #slowdowns: number[] = [];
  readonly #failed: boolean[] = [];

  constructor(fn: number, timeoutMs: number) {
    this.#fn = fn;
    this.#timeoutMicros = 1000 * timeoutMs;
  }

  record(activation: SimulatedActivation): void {
    if (activation.fn !== this.#fn) return;
    const failed = activation.outcome !== ClusterOutcome.success;
    // Without init, which depends on the container. A failure is never faster than a success.
    const served =
      activation.placedAt - activation.arrivedAt + activation.endedAt - activation.runAt;
    this.#arrivals.push(activation.arrivedAt / 1000);
    this.#slowdowns.push(
      Math.max(1, (failed ? this.#timeoutMicros : served) / activation.soloMicros),
    );
    this.#failed.push(failed);
  }

  /** Of the activations that arrived from `from` on and before `to`, ascending. */
  slowdownsBetween(from: number, to: number): number[] {
    return this.#slowdowns.filter((_, i) => this.#isBetween(i, from, to)).sort((a, b) => a - b);
  }

  failures(from: number, to: number): number {
    return this.#failed.filter((failed, i) => failed && this.#isBetween(i, from, to)).length;
  }

  #isBetween(i: number, from: number, to: number): boolean {
    return this.#arrivals[i]! >= from && this.#arrivals[i]! < to;
  }
}
