import type { Run } from './container-state.js';
import type { FunctionState } from './function-state.js';
import type { ActivationPolicy } from './policies/activation-policy.js';

/** A host's policies: one for quotas and memory, one for weights. */
export interface Policies {
  readonly quota: ActivationPolicy;
  readonly weight: ActivationPolicy;
}

/** Which policy decides about a run: the function's own if it has one, else the host's. */
export class PoliciesInUse {
  host: Policies;
  /** Weak: a forgotten function keeps its policy while one of its containers runs. */
  readonly #own = new WeakMap<FunctionState, ActivationPolicy>();
  #hasOwn = false;

  constructor(host: Policies) {
    this.host = host;
  }

  /** `policy`: null for the host's. */
  setOwn(fn: FunctionState, policy: ActivationPolicy | null): void {
    if (policy === null) this.#own.delete(fn);
    else {
      this.#own.set(fn, policy);
      this.#hasOwn = true;
    }
  }

  /** The policy for the quota of a run that has one, else for its weight. */
  of({ fn, container }: Run): ActivationPolicy {
    return this.#ownOf(fn) ?? (container.mode === 'quota' ? this.host.quota : this.host.weight);
  }

  /** The policy that chooses CPU within the safeguard's range. */
  rangeOf(run: Run): ActivationPolicy {
    const policy = this.of(run);
    return policy.kind === 'weight' ? this.host.quota : policy;
  }

  memoryOf(run: Run): ActivationPolicy {
    return this.#ownOf(run.fn) === undefined ? this.host.quota : this.rangeOf(run);
  }

  weightOf({ fn, container }: Run): ActivationPolicy {
    const own = this.#ownOf(fn);
    if (own === undefined || (container.mode === 'quota' && own.kind !== 'weight'))
      return this.host.weight;
    return own;
  }

  #ownOf(fn: FunctionState): ActivationPolicy | undefined {
    return this.#hasOwn ? this.#own.get(fn) : undefined;
  }
}
