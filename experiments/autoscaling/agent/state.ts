import type { Held } from '../../../agents/simppo/index.js';

/** What an autoscaling agent sees of its own function, of one control step. */
export interface ScalingState {
  readonly held: Held;
  /** CPU and memory in use / limits of all its containers, 0..1. */
  readonly cpuUse: number;
  readonly memoryUse: number;
  /** Share of the containers' time with a call in them. */
  readonly busy: number;
  /** Calls a second. */
  readonly rate: number;
  /**
   * p99 of the response time, ms, over the look-back window; 0: nothing ended and nothing waits.
   */
  readonly tail: number;
  readonly slo: number;
  /** Waiting at the step's end. */
  readonly waiting: number;
  /** Share of the calls that were late or failed. */
  readonly late: number;
  /** Share of the calls that failed: killed for memory, or given up while they waited. */
  readonly failed: number;
}

/** The totals that everyone sees. Millicores. */
export interface ClusterTotals {
  readonly capacity: number;
  readonly allocated: number;
  /** Of what was promised: what was not used (`idleOf`, all functions). */
  readonly idle: number;
}

/** min(1, SLO / p99); 1 where nothing was asked for. */
export const preservation = ({ tail, slo }: ScalingState): number => (tail > slo ? slo / tail : 1);
