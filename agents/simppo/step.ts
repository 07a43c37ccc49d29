import type { Observation } from '../../broker/messages/index.js';
import type { Bytes, Millicores } from '../../config/index.js';
import type { Decision } from '../resource-manager.js';
import { apply, type Bounds, directionsOf, type Held, maskOf } from './actions.js';
import type { ActionStepSettings } from './settings.js';

/** Steps of containers, CPU and memory: -1, 0 or 1 each. */
export type Directions = readonly [number, number, number];

/** Where an agent stands before a step. */
export interface Standing extends Pick<Observation, 'cpuMode'> {
  readonly held: Held;
  /** Directions of the last step. */
  readonly last: Directions;
  readonly bounds: Bounds;
}

export interface SimppoStep {
  /** Null: no action is valid, and what is held stays. */
  readonly action: number | null;
  /** What the action leads to, within the bounds. */
  readonly held: Held;
  readonly directions: Directions;
  /** It takes back the agent's last step in a dimension. */
  readonly isReversal: boolean;
}

/** Chooses among the actions that change something, and takes the step. `mask` is written. */
export function takeStep(
  standing: Standing,
  settings: ActionStepSettings,
  mask: Uint8Array,
  choose: (mask: Uint8Array) => number | null,
): SimppoStep {
  const { held, last, bounds } = standing;
  const action = choose(maskOf(held, bounds, standing, settings, mask));
  const directions = directionsOf(action ?? 0);
  return {
    action,
    held: apply(action ?? 0, held, bounds, standing, settings),
    directions,
    isReversal: directions.some((direction, i) => direction * last[i]! < 0),
  };
}

/** The target of a step in the dimensions that agents decide; `cpu`: in quota mode, millicores. */
export function decisionOf(
  { held, directions }: Pick<SimppoStep, 'held' | 'directions'>,
  cpu: number,
  { cpuMode }: Pick<Observation, 'cpuMode'>,
  { dimensions }: ActionStepSettings,
): Decision {
  return {
    ...(!dimensions.cpu
      ? {}
      : cpuMode === 'weight'
        ? { weightFactor: held.cpu }
        : { cpu: cpu as Millicores }),
    ...(dimensions.memory ? { memory: Math.round(held.memory) as Bytes } : {}),
    ...(dimensions.containers ? { containers: held.containers } : {}),
    actions: directions,
  };
}
