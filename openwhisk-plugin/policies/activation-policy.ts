import type { Millis, Random } from '../../config/index.js';
import type { Grant, Run } from '../decision/run.js';
import type { DecisionSettings } from '../decision/settings.js';

/** `range`: chooses an amount inside the safeguard's range. `weight`: chooses the CPU weight where there is no quota. `both`: either. */
export type PolicyKind = 'range' | 'weight' | 'both';

/** What a choice may look at besides the run; one object, reused by the decider. */
export interface PolicyContext {
  settings: DecisionSettings;
  random: Random;
  /** Reference CPU time of this host, ms; NaN = not known yet. */
  reference: Millis;
}

/**
 * The choice left by the safeguard, made in the hook for every activation (design §3.3, §4). Pure and free of allocation.
 * Whatever a policy answers is clipped by the decider; not finite or not positive means user limits.
 */
export interface ActivationPolicy {
  readonly name: string;
  readonly kind: PolicyKind;
  /**
   * `range`: the amount wished, millicores or bytes, for `grant` (`run.cpu` or `run.memory`), whose `lower`, `upper` and `user` are set.
   * `weight` (the container's mode is `weight` and `grant` is `run.cpu`): the factor on the container's own shares.
   */
  choose(run: Run, grant: Grant, context: PolicyContext): number;
}
