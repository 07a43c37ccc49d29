import type { Grant, Run } from '../run.js';
import type { ActivationPolicy } from './activation-policy.js';

/** As much as the safeguard allows: a floor for comparisons. */
export class LargestInRangePolicy implements ActivationPolicy {
  readonly name = 'largest-in-range';
  readonly kind = 'range';

  choose(_run: Run, grant: Grant): number {
    return grant.upper;
  }
}
