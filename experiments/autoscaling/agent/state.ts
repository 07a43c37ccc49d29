import type { Held } from '../../../agents/simppo/index.js';
import type { Others } from '../../../broker/mean-field/index.js';

/** An agent's observation of its own function in one control step. */
export interface ScalingState {
  readonly held: Held;
  /** CPU and memory in use / limits of all its containers, 0..1. */
  readonly cpuUse: number;
  readonly memoryUse: number;
  /** Share of the containers' time with an activation in them. */
  readonly busy: number;
  /** Activations per second. */
  readonly rate: number;
  /**
   * p99 of the response time, ms, over the look-back window; 0: nothing ended and nothing waits.
   */
  readonly tail: number;
  readonly slo: number;
  /** Waiting at the step's end. */
  readonly waiting: number;
  /** Share of the activations that were late or failed. */
  readonly late: number;
  /** Share of the activations that failed: OOM kills, or timed out while waiting. */
  readonly failed: number;
}

/** Cluster totals that every agent sees, in millicores. */
export interface ClusterTotals {
  readonly capacity: number;
  readonly allocated: number;
  /** The unused part of `allocated` (`idleOf`, over all functions). */
  readonly idle: number;
}

/** What an agent sees of its function, of all others and of the cluster. */
export interface ScalingView {
  readonly observed: ScalingState;
  /** The function's published features, as the mean field adds them up. */
  readonly published: readonly number[];
  readonly others: Others | null;
  readonly totals: ClusterTotals;
}

/** min(1, SLO / p99); 1 without activations. */
export const preservation = ({ tail, slo }: ScalingState): number => (tail > slo ? slo / tail : 1);
