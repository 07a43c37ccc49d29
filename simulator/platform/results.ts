import { SimOutcome } from './options.js';

/**
 * What became of each call of a plan, in columns by its index; simulated us. Repeating the plan
 * overwrites them.
 */
export class Results {
  readonly outcome: Uint8Array;
  readonly cold: Uint8Array;
  readonly arrived: Float64Array;
  /** The `/run` request, after any wait, container start and `/init`. */
  readonly runAt: Float64Array;
  readonly ended: Float64Array;
  /** Core-us spent by `/run`. */
  readonly cpu: Float64Array;

  constructor(count: number) {
    this.outcome = new Uint8Array(count);
    this.cold = new Uint8Array(count);
    this.arrived = new Float64Array(count);
    this.runAt = new Float64Array(count);
    this.ended = new Float64Array(count);
    this.cpu = new Float64Array(count);
  }

  record(
    call: number,
    outcome: number,
    arrived: number,
    runAt: number,
    ended: number,
    cpu: number,
  ): void {
    this.outcome[call] = outcome;
    this.arrived[call] = arrived;
    this.runAt[call] = runAt;
    this.ended[call] = ended;
    this.cpu[call] = cpu;
  }

  /** Response time (wait + init + run), us; NaN while it is not over. */
  response(call: number): number {
    return this.outcome[call] === SimOutcome.pending
      ? Number.NaN
      : this.ended[call]! - this.arrived[call]!;
  }

  /** Execution time (run), us; NaN where `/run` was never reached. */
  execution(call: number): number {
    return this.outcome[call] === SimOutcome.pending
      ? Number.NaN
      : this.ended[call]! - this.runAt[call]!;
  }
}
