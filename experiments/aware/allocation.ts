import { META_SCALE } from '../../agents/aware/index.js';

/** What a function is given: containers, and the size of each. */
export interface AwareAllocation {
  /** Cores and MiB of one container. */
  readonly cpu: number;
  readonly memory: number;
  readonly containers: number;
}

/**
 * The Kubernetes controller's ranges (simppo-aware.md §1.5), memory without the room that these
 * applications never need. Steps: 128 millicores, 32 MiB.
 */
export const RANGES = {
  cpu: { least: 0.128, most: META_SCALE.cpu, step: 0.128 },
  memory: { least: 64, most: META_SCALE.memory, step: 32 },
  containers: { least: 1, most: META_SCALE.containers, step: 1 },
} as const;

/**
 * What a user asks for who does not know: the initial size of simppo-aware.md §1.5 (its 2048 MiB
 * cut down to these applications).
 */
export const INITIAL: AwareAllocation = { cpu: 1.024, memory: 512, containers: 4 };

/** One dimension, one step; the first does nothing (simppo-aware.md §1.5). */
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

/** After one action; what would leave the range stops at its end. */
export function afterAction(allocation: AwareAllocation, action: number): AwareAllocation {
  const step = dimensionOf(action);
  if (step === null) return allocation;
  const { dimension, sign } = step;
  const value = within(dimension, allocation[dimension] + sign * RANGES[dimension].step);
  return { ...allocation, [dimension]: value };
}

/**
 * 1 where an action changes something. Each bound is held against its own dimension
 * (simppo-aware.md §7.1 item 3).
 */
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

/**
 * A free move as the nearest of the actions: the dimension that changes by most steps
 * (simppo-aware.md §3.3).
 */
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
