import type { Observation } from '../../broker/messages/index.js';
import { apply, type Bounds, directionsOf, type Held } from './actions.js';
import type { ActionSettings } from './settings.js';

/** Steps of containers, CPU and memory: -1, 0 or 1 each. */
export type Directions = readonly [number, number, number];

/** One step of a SIMPPO agent. */
export interface SimppoStep {
  readonly action: number;
  /** What the action leads to, within the bounds. */
  readonly held: Held;
  readonly directions: Directions;
  /** It takes back the agent's last step in a dimension. */
  readonly isReversal: boolean;
}

/** The step of an action; null: no action is valid, and what is held stays. */
export function stepOf(
  action: number | null,
  held: Held,
  last: Directions,
  bounds: Bounds,
  mode: Pick<Observation, 'cpuMode'>,
  settings: ActionSettings,
): SimppoStep {
  const directions = directionsOf(action ?? 0);
  return {
    action: action ?? 0,
    held: apply(action ?? 0, held, bounds, mode, settings),
    directions,
    isReversal: directions.some((direction, i) => direction * last[i]! < 0),
  };
}
