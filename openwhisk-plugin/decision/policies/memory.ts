import type { ActivationPolicy } from './activation-policy.js';

/** OpenWhisk's own weights, by memory: a floor for comparisons. */
export class MemoryPolicyWeights implements ActivationPolicy {
  readonly name = 'memory';
  readonly kind = 'weight';

  choose(): number {
    return 1;
  }
}
