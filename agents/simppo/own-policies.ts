import { LRUCache } from 'lru-cache';
import type { Observation } from '../../broker/messages/index.js';
import type { LearnerState } from '../ppo/index.js';
import type { LearningPolicy } from './learning-policy.js';
import type { OwnPolicyStore } from './own-policy-store.js';
import { blend, nearest, type Profile, profileOf } from './similarity.js';

/** Functions of which something is remembered besides their state. */
const FUNCTIONS_MAX = 20_000;

export interface OwnPoliciesOptions {
  /** Largest number in memory; the least recently used one remains in the store only. */
  readonly resident: number;
  readonly ownPolicyStore: OwnPolicyStore | undefined;
  /** Weights that functions share, as they are now. */
  readonly base: () => LearnerState;
  readonly make: (fn: string, state: LearnerState) => LearningPolicy;
}

/** Functions' own policies: what they begin with, and where they are while away. */
export class OwnPolicies {
  readonly #options: OwnPoliciesOptions;
  readonly #resident: LRUCache<string, LearningPolicy>;
  /** Functions whose weights were looked up in the store. */
  readonly #sought = new LRUCache<string, true>({ max: FUNCTIONS_MAX });
  /** Functions with updates that the store has not accepted. */
  readonly #unkept = new Set<string>();
  readonly #profiles = new LRUCache<string, Profile>({ max: FUNCTIONS_MAX });

  constructor(options: OwnPoliciesOptions) {
    this.#options = options;
    this.#resident = new LRUCache({
      max: Math.max(1, options.resident),
      dispose: (policy, fn) => {
        // Only what it lacks: another host may have gone on from its copy since.
        if (this.#unkept.delete(fn)) options.ownPolicyStore?.save(fn, policy.state);
        policy.dispose();
        // Loaded from the store again at its next step.
        this.#sought.delete(fn);
      },
    });
  }

  get(fn: string): LearningPolicy | undefined {
    return this.#resident.get(fn);
  }

  values(): Iterable<LearningPolicy> {
    return this.#resident.values();
  }

  see(observation: Observation): void {
    const { function: fn } = observation;
    const now = profileOf(observation);
    const before = this.#profiles.get(fn);
    if (before !== undefined) this.#profiles.set(fn, blend(before, now));
    else if (now !== null) this.#profiles.set(fn, now);
  }

  /** Stored with each update, so that no host's end and no move loses them. */
  trained(fn: string): void {
    const { ownPolicyStore } = this.#options;
    const policy = this.#resident.peek(fn);
    if (ownPolicyStore === undefined || policy === undefined) return;
    if (ownPolicyStore.save(fn, policy.state)) this.#unkept.delete(fn);
    else this.#unkept.add(fn);
  }

  /** Starts from the most similar function's weights, otherwise from the base policy's [SIMPPO]. */
  begin(fn: string): LearningPolicy {
    const trained: [Profile, LearningPolicy][] = [];
    for (const [other, policy] of this.#resident.entries()) {
      const profile = this.#profiles.peek(other);
      if (profile !== undefined && policy.updates > 0) trained.push([profile, policy]);
    }
    const similar = nearest(this.#profiles.peek(fn) ?? [], trained);
    return this.#add(fn, similar?.state ?? this.#options.base());
  }

  /** Looks once for stored weights; they replace those that have not learned. */
  load(fn: string): void {
    const { ownPolicyStore } = this.#options;
    if (ownPolicyStore === undefined || this.#sought.has(fn)) return;
    this.#sought.set(fn, true);
    ownPolicyStore.load(fn, (state) => {
      if (state === null) return;
      const own = this.#resident.peek(fn);
      if (own === undefined) this.#add(fn, state);
      else if (own.updates === 0) own.import(state);
    });
  }

  #add(fn: string, state: LearnerState): LearningPolicy {
    const policy = this.#options.make(fn, state);
    this.#resident.set(fn, policy);
    return policy;
  }
}
