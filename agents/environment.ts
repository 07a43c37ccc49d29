import type { Observation } from '../broker/messages/index.js';
import type { Decision } from './resource-manager.js';

/**
 * Where managers learn without a cluster; the simulator implements it. One step is one mean-field
 * interval; observations are those that a hook would publish.
 */
export interface Environment {
  readonly functions: readonly string[];
  /** The same seed gives the same episode. */
  reset(seed: number): readonly Observation[];
  step(decisions: ReadonlyMap<string, Decision>): {
    readonly observations: readonly Observation[];
    readonly done: boolean;
  };
}
