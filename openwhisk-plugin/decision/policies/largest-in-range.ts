import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import type { ActivationPolicy } from './activation-policy.js';

/** As much as the safeguard allows: a floor for comparisons. */
export class LargestInRangePolicy implements ActivationPolicy {
  readonly name = 'largest-in-range';
  readonly kind = 'range';

  choose(_run: Run, grant: Grant): number {
    return grant.upper;
  }
}
