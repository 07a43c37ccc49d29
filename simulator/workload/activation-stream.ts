import type { WorkloadFunction } from './workload.js';

/** A function as the cluster runs it, without its arrivals. */
export interface StreamedFunction extends Omit<WorkloadFunction, 'arrivals'> {
  /** Activations one container may run at once (the action's `concurrency`); 1 where absent. */
  readonly concurrency?: number;
}

/**
 * A block of activations as columns, filled by an {@link ActivationStream} and read by the engine;
 * one object for a whole run.
 */
export class ActivationBlock {
  readonly capacity: number;
  /** Index into the stream's `functions`. */
  readonly fn: Uint32Array;
  /** Integer us from the start of the run; never falls, not even from one block to the next. */
  readonly arrival: Float64Array;
  /** CPU work, core-us. */
  readonly cpu: Float64Array;
  /** Integer us it waits for others without a core, after half of its CPU work. */
  readonly io: Float64Array;
  /** Highest working set, bytes. */
  readonly peak: Float64Array;
  /** Size of the payload, 1 = the function's median. */
  readonly payload: Float64Array;

  constructor(capacity = 4096) {
    this.capacity = capacity;
    this.fn = new Uint32Array(capacity);
    this.arrival = new Float64Array(capacity);
    this.cpu = new Float64Array(capacity);
    this.io = new Float64Array(capacity);
    this.peak = new Float64Array(capacity);
    this.payload = new Float64Array(capacity);
  }
}

/**
 * Activations in order of arrival with their demand, made on request, so that ten million take no
 * more memory than a thousand. Their demand is drawn before they run: no manager changes it.
 */
export interface ActivationStream {
  /** At most 2^32 - 1; names differ. */
  readonly functions: readonly StreamedFunction[];
  /** Length of the arrivals, us: what rates and loads are taken over. */
  readonly spanMicros: number;
  /** Total number of activations if known in advance (for a progress bar); NaN: unknown. */
  readonly expectedActivations: number;
  /** Writes the next activations from index 0 on; returns how many, 0 only at the end. */
  fill(block: ActivationBlock): number;
}
