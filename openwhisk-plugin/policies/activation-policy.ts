import type { Random } from '../../config/index.js';
import type { FunctionState } from '../decision/function-state.js';
import type { Grant, Run } from '../decision/run.js';

/** `range`: chooses an amount inside the safeguard's range. `weight`: chooses the CPU weight where there is no quota. */
export type PolicyKind = 'range' | 'weight';

/**
 * The choice left by the safeguard, made in the hook for every activation (design §3.3, §4). Pure and free of allocation.
 * Whatever a policy answers is clipped by the decider; not finite or not positive means user limits.
 */
export interface ActivationPolicy {
  readonly name: string;
  readonly kind: PolicyKind;
  /**
   * `range`: the amount wished, millicores or bytes, for `grant` (`run.cpu` or `run.memory`) whose `lower`, `upper` and `user` are set.
   * `weight`: the factor on the container's own shares.
   */
  choose(run: Run, grant: Grant, fn: FunctionState, random: Random): number;
}
