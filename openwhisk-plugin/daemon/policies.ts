import type { PolicyParameters } from '../../broker/messages/index.js';
import type { Config } from '../../config/index.js';
import type { FunctionSettings } from '../control/index.js';
import type { Policies } from '../decision/index.js';
import { type ActivationPolicy, createPolicy } from '../decision/index.js';
import { BoundedPolicy } from './bounded-policy.js';

/**
 * The activation policies in use: named by the configuration, with parameters from key-value. They
 * are created when parameters change, never while an activation waits.
 */
export class PolicyTable {
  readonly #parameters = new Map<string, PolicyParameters>();
  readonly #made = new Map<string, ActivationPolicy>();

  /** Throws a GleanerError, and keeps the old parameters, if the policy cannot use them. */
  accept(parameters: PolicyParameters): void {
    const key = keyOf(parameters.policy, parameters.function);
    const policy = createPolicy(parameters.policy, parameters.parameters, parameters.weights);
    this.#parameters.set(key, parameters);
    this.#made.set(key, policy);
  }

  /** Throws a GleanerError for an unknown name, at the start or a reload. */
  check(overrides: readonly FunctionSettings[]): void {
    for (const { policy } of overrides) if (policy !== undefined) createPolicy(policy);
  }

  forHost(names: Config['decision']['policy']): Policies {
    return { quota: this.#policy(names.quota, null), weight: this.#policy(names.weight, null) };
  }

  /** The function's policy, if it has a name, bounds or parameters of its own; null: the host's. */
  forFunction(action: string, settings: FunctionSettings, host: Policies): ActivationPolicy | null {
    const own = this.#own(action, settings.policy, host);
    if (settings.bounds === undefined) return own;
    const range = own === null || own.kind === 'weight' ? host.quota : own;
    const weight = own === null ? host.weight : own.kind === 'range' ? null : own;
    return new BoundedPolicy(range, weight, settings.bounds);
  }

  #own(action: string, named: string | undefined, host: Policies): ActivationPolicy | null {
    if (named !== undefined) return this.#policy(named, action);
    for (const { name } of [host.quota, host.weight]) {
      const own = this.#made.get(keyOf(name, action));
      if (own !== undefined) return own;
    }
    return null;
  }

  summary(): { policy: string; function: string | null; source: string; weights: number }[] {
    return [...this.#parameters.values()].map((each) => ({
      policy: each.policy,
      function: each.function,
      source: each.source,
      weights: each.weights.length,
    }));
  }

  #policy(name: string, action: string | null): ActivationPolicy {
    const own = this.#made.get(keyOf(name, action)) ?? this.#made.get(keyOf(name, null));
    if (own !== undefined) return own;
    const policy = createPolicy(name);
    this.#made.set(keyOf(name, null), policy);
    return policy;
  }
}

const keyOf = (policy: string, action: string | null): string => `${policy} ${action ?? ''}`;
