import { META_SCALE } from '../../agents/aware/index.js';

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

/** One step in one dimension; the first does nothing [AWARE]. */
export const AWARE_ACTIONS = [
  'stay',
  'cpu up',
  'cpu down',
  'memory up',
  'memory down',
  'out',
  'in',
] as const;
const DIMENSIONS = ['cpu', 'memory', 'containers'] as const;

export type Dimension = (typeof DIMENSIONS)[number];

const dimensionOf = (action: number): { dimension: Dimension; sign: number } | null =>
  action === 0
    ? null
    : { dimension: DIMENSIONS[(action - 1) >> 1]!, sign: action % 2 === 1 ? 1 : -1 };

export const within = (dimension: Dimension, value: number): number => {
  const { least, most } = RANGES[dimension];
  return Math.min(most, Math.max(least, value));
};

/** The allocation after one action, clipped to the ranges. */
export function afterAction(allocation: AwareAllocation, action: number): AwareAllocation {
  const step = dimensionOf(action);
  if (step === null) return allocation;
  const { dimension, sign } = step;
  const value = within(dimension, allocation[dimension] + sign * RANGES[dimension].step);
  return { ...allocation, [dimension]: value };
}

/** 1 for each action that changes something, by the bounds of its own dimension. */
export function allocationMask(allocation: AwareAllocation, to: Uint8Array): Uint8Array {
  to[0] = 1;
  for (let action = 1; action < AWARE_ACTIONS.length; action++) {
    const { dimension, sign } = dimensionOf(action)!;
    const { least, most, step } = RANGES[dimension];
    const value = allocation[dimension];
    to[action] = Number(sign > 0 ? most - value > step / 10 : value - least > step / 10);
  }
  return to;
}

/** The action nearest to a free change: the dimension that changes by most steps. */
export function actionOf(from: AwareAllocation, to: AwareAllocation): number {
  let best = 0;
  let most = 0.5;
  for (const [i, dimension] of DIMENSIONS.entries()) {
    const steps = (to[dimension] - from[dimension]) / RANGES[dimension].step;
    if (Math.abs(steps) < most) continue;
    most = Math.abs(steps);
    best = 1 + 2 * i + (steps > 0 ? 0 : 1);
  }
  return best;
}
