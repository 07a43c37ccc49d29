import type { Run } from '../container-state.js';
import type { ActivationPolicy } from './activation-policy.js';

/** The kernel's default weight for everyone: a floor for comparisons. */
const EQUAL_SHARES = 1024;

export class EqualPolicy implements ActivationPolicy {
  readonly name = 'equal';
  readonly kind = 'weight';

  choose(run: Run): number {
    return EQUAL_SHARES / run.container.user.shares;
  }
}
