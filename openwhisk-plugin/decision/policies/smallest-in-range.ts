import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import type { ActivationPolicy } from './activation-policy.js';

/** As little as the safeguard allows: the default in quota mode. */
export class SmallestInRangePolicy implements ActivationPolicy {
  readonly name = 'smallest-in-range';
  readonly kind = 'range';

  choose(_run: Run, grant: Grant): number {
    return grant.lower;
  }
}
