import { META_SCALE, nearestAction } from '../../agents/aware/index.js';
import { directionsOf } from '../../agents/simppo/index.js';

/** Number and size of a function's containers. */
export interface AwareAllocation {
  /** Cores and MiB of one container. */
  readonly cpu: number;
  readonly memory: number;
  readonly containers: number;
}

/** Ranges of the Kubernetes controller [AWARE artifact], with less memory: it is never needed. */
export const RANGES = {
  cpu: { least: 0.128, most: META_SCALE.cpu, step: 0.128 },
  memory: { least: 64, most: META_SCALE.memory, step: 32 },
  containers: { least: 1, most: META_SCALE.containers, step: 1 },
} as const;

/** A user's guess: the initial size of [AWARE artifact], with less memory. */
export const INITIAL: AwareAllocation = { cpu: 1.024, memory: 512, containers: 4 };

const DIMENSIONS = ['cpu', 'memory', 'containers'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export const within = (dimension: Dimension, value: number): number => {
  const { least, most } = RANGES[dimension];
  return Math.min(most, Math.max(least, value));
};

/** The allocation after one of SIMPPO's actions, clipped to the ranges. */
export function afterAction(allocation: AwareAllocation, action: number): AwareAllocation {
  const [containers, cpu, memory] = directionsOf(action);
  const moved = (dimension: Dimension, direction: number): number =>
    within(dimension, allocation[dimension] + direction * RANGES[dimension].step);
  return {
    cpu: moved('cpu', cpu),
    memory: moved('memory', memory),
    containers: moved('containers', containers),
  };
}

/** 1 for each action that changes something, by the bounds of its own dimension. */
export function allocationMask(allocation: AwareAllocation, to: Uint8Array): Uint8Array {
  to[0] = 1;
  DIMENSIONS.forEach((dimension, i) => {
    const { least, most, step } = RANGES[dimension];
    const value = allocation[dimension];
    to[1 + 2 * i] = Number(most - value > step / 10);
    to[2 + 2 * i] = Number(value - least > step / 10);
  });
  return to;
}

/** The action nearest to a free change. */
export const actionOf = (from: AwareAllocation, to: AwareAllocation): number =>
  nearestAction(
    DIMENSIONS.map((dimension) => (to[dimension] - from[dimension]) / RANGES[dimension].step),
  );
