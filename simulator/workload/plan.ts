import {
  ActivationBlock,
  type ActivationStream,
  type StreamedFunction,
} from './activation-stream.js';
import type { Workload } from './workload.js';
import { WorkloadStream } from './workload-stream.js';

/**
 * Every activation of a workload with its demand, drawn before anything runs, for players that want
 * all of them at once. Columns as in {@link ActivationBlock}, ordered by arrival.
 */
export interface Plan extends Omit<ActivationBlock, 'capacity'> {
  readonly workload: Workload;
  readonly count: number;
  /** Length of the workload, us of played time: where a repetition begins. */
  readonly spanMicros: number;
}

/** The activations of one round of a workload. */
export function planWorkload(workload: Workload, seed = workload.seed): Plan {
  const stream = new WorkloadStream(workload, { seed });
  const block = new ActivationBlock();
  const all = {
    fn: [] as number[],
    arrival: [] as number[],
    cpu: [] as number[],
    io: [] as number[],
    peak: [] as number[],
    payload: [] as number[],
  };
  for (let count = stream.fill(block); count > 0; count = stream.fill(block))
    for (const [name, column] of Object.entries(all))
      column.push(...block[name as keyof typeof all].subarray(0, count));
  return {
    workload,
    count: all.fn.length,
    spanMicros: stream.spanMicros,
    fn: Uint32Array.from(all.fn),
    arrival: Float64Array.from(all.arrival),
    cpu: Float64Array.from(all.cpu),
    io: Float64Array.from(all.io),
    peak: Float64Array.from(all.peak),
    payload: Float64Array.from(all.payload),
  };
}

/** A plan's activations as a stream. */
export class PlanStream implements ActivationStream {
  readonly functions: readonly StreamedFunction[];
  readonly spanMicros: number;
  readonly expectedActivations: number;
  /** Start again after the last one; decided when the last one is taken. */
  repeat = false;
  readonly #plan: Plan;
  #next = 0;
  /** Start of this round, us. */
  #start = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.functions = plan.workload.functions;
    this.spanMicros = plan.spanMicros;
    this.expectedActivations = plan.count;
  }

  fill(block: ActivationBlock): number {
    const plan = this.#plan;
    if (this.repeat && this.#next === plan.count) {
      this.#next = 0;
      this.#start += plan.spanMicros;
    }
    const from = this.#next;
    const count = Math.min(block.capacity, plan.count - from);
    for (let i = 0; i < count; i++) block.fn[i] = plan.fn[from + i]!;
    for (let i = 0; i < count; i++) block.arrival[i] = plan.arrival[from + i]! + this.#start;
    block.cpu.set(plan.cpu.subarray(from, from + count));
    block.io.set(plan.io.subarray(from, from + count));
    block.peak.set(plan.peak.subarray(from, from + count));
    block.payload.set(plan.payload.subarray(from, from + count));
    this.#next = from + count;
    return count;
  }
}
