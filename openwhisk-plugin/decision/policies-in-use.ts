import type { ActivationPolicy } from './policies/activation-policy.js';
import type { Run } from './run.js';

/**
 * The policies in use: one for quotas (and for memory), one for weights. A function may have one of
 * its own instead.
 */
export interface Policies {
  readonly quota: ActivationPolicy;
  readonly weight: ActivationPolicy;
}

/** Decides about a run first of all: about its quota where it has one, else about its weight. */
export function policyOf({ fn, container }: Run, policies: Policies): ActivationPolicy {
  return fn.policy ?? (container.mode === 'quota' ? policies.quota : policies.weight);
}

export function weightPolicyOf({ fn, container }: Run, policies: Policies): ActivationPolicy {
  if (fn.policy === null || (container.mode === 'quota' && fn.policy.kind !== 'weight'))
    return policies.weight;
  return fn.policy;
}
