import { congestionCharge, type Held, type ScalingOutcome } from '../../../agents/simppo/index.js';
import type { Others } from '../../../broker/mean-field/index.js';
import type { ScalingAgentSettings } from './settings.js';

/**
 * An agent's observation of its own function in one control step. `tail` is of the look-back
 * window, in ms; 0: nothing ended and nothing waits.
 */
export interface ScalingState extends ScalingOutcome {
  readonly held: Held;
  /** Share of the containers' time with an activation in them. */
  readonly busy: number;
  /** Activations per second. */
  readonly rate: number;
  /** Waiting at the step's end. */
  readonly waiting: number;
}

/** Cluster totals, in millicores; `allocated`: requests, which may exceed the capacity. */
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

/** The unused part of a function's request: it uses `cpuUse` of what it is granted of it. */
export const idleOf = (own: number, cpuUse: number): number => own * (1 - cpuUse);

/** The congestion charge by a function's share of the allocated CPU, or of its unused part. */
export function scalingCharge(
  { held, cpuUse }: ScalingState,
  { capacity, allocated, idle }: ClusterTotals,
  members: number,
  by: ScalingAgentSettings['priceBy'],
): number {
  const occupancy = allocated / capacity;
  const own = held.cpu * held.containers;
  return by === 'idle'
    ? congestionCharge(occupancy - 1, members, idleOf(own, cpuUse), idle)
    : congestionCharge(occupancy - 1, members, own, allocated);
}
