import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import type { ActivationPolicy, PolicyContext } from './activation-policy.js';

/**
 * A random amount in the range: the baseline that a learned policy must beat. Whole units in the
 * published presets.
 */
export class RandomInRangePolicy implements ActivationPolicy {
  readonly name = 'random-in-range';
  readonly kind = 'range';

  choose(run: Run, grant: Grant, context: PolicyContext): number {
    const { settings, random } = context;
    if (settings.preset === 'default')
      return grant.lower + random.next() * (grant.upper - grant.lower);
    const unit = grant === run.cpu ? settings.cpuUnit : settings.memoryUnit;
    const steps = Math.floor((grant.upper - grant.lower) / unit);
    return grant.lower + unit * random.below(steps + 1);
  }
}
