import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import { targetFactor } from '../weights.js';
import type { ActivationPolicy } from './activation-policy.js';

/**
 * What the function's agent wants. In weight mode: its CPU target against the user's CPU, within
 * x1/2..x2.
 */
export class TargetPolicy implements ActivationPolicy {
  readonly name = 'target';
  readonly kind = 'both';

  choose(run: Run, grant: Grant): number {
    if (grant === run.memory) return run.targetMemory;
    return run.container.mode === 'weight'
      ? targetFactor(run.targetCpu, grant.user)
      : run.targetCpu;
  }
}
