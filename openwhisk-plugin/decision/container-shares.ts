import type { Millicores, Millis } from '../../config/index.js';
import { Boosts } from './boosts.js';
import type { ContainerState } from './container-state.js';
import type { HostWeights } from './host-weights.js';
import type { PoliciesInUse } from './policies-in-use.js';
import { type DecisionSettings, MAX_WEIGHT_FACTOR } from './settings.js';
import { ownWeight, scaleShares } from './weights.js';

/**
 * Weights that no policy chooses: of containers that start, idle, serve what is unknown or are back
 * at user limits, and of all when their common factor changes. Each method sets `container.shares`.
 */
export class ContainerShares {
  readonly #weights: HostWeights;
  readonly #policies: PoliciesInUse;
  readonly #current: { readonly settings: DecisionSettings };
  readonly #boosts: Boosts;

  /** `cpu`: all of the host's. `current`: with the settings of now. */
  constructor(
    weights: HostWeights,
    policies: PoliciesInUse,
    current: { readonly settings: DecisionSettings },
    cpu: Millicores,
  ) {
    this.#weights = weights;
    this.#policies = policies;
    this.#current = current;
    this.#boosts = new Boosts(cpu);
  }

  /** What all managed containers' weights are multiplied by: 1 if no policy needs room. */
  get commonWeight(): number {
    const { relative } = this.#policies.host.weight;
    return this.#hasPolicy && relative === true ? this.#weights.common : 1;
  }

  /**
   * The common factor has changed from `before`, or the range: `container.shares` and its runs'
   * follow.
   */
  rescale(container: ContainerState, before: number): void {
    const { commonWeight } = this;
    const most = ownWeight(container, this.#weights.highest * commonWeight);
    const shares = Math.min(most, scaleShares(container.shares, commonWeight / before));
    for (const run of container.runs) run.shares = shares;
    this.#set(container, shares);
  }

  /** {@link Boosts.begin} */
  beginBoost(container: ContainerState, now: Millis): Millicores {
    const { commonWeight } = this;
    const { settings } = this.#current;
    const least = ownWeight(container, this.#weights.typical(commonWeight));
    const isRanked = this.#hasPolicy && this.#policies.host.weight.orders === true;
    const most = isRanked ? this.#weights.highest : MAX_WEIGHT_FACTOR;
    const quota = this.#boosts.begin(container, settings, now, commonWeight, least, most);
    this.#set(container, this.#capped(container, container.shares));
    return quota;
  }

  /** {@link Boosts.expire}, with {@link HostWeights.typical}. */
  expireBoost(container: ContainerState, now: Millis): void {
    this.#boosts.expire(container, this.#current.settings, now, this.#typical(container));
    this.#weights.update(container);
  }

  /** {@link Boosts.end} */
  endBoost(container: ContainerState): void {
    this.#boosts.end(container);
    this.#weights.update(container);
  }

  /** An idle container's weight falls to what control activations have. True: write it. */
  neutralize(container: ContainerState): boolean {
    const neutral = ownWeight(container, this.#weights.neutral(this.commonWeight));
    if (container.shares <= neutral) return false;
    container.shares = neutral;
    return true;
  }

  /** A request that could not be read runs in it: {@link HostWeights.typical}, as of a start. */
  setTypical(container: ContainerState): void {
    this.#set(container, this.#typical(container));
  }

  /** The user's own, which was restored from outside. */
  restoreUser(container: ContainerState): void {
    this.#set(container, container.user.shares);
  }

  /** The published presets know no weights. */
  get #hasPolicy(): boolean {
    return this.#current.settings.preset === 'default';
  }

  #typical(container: ContainerState): number {
    return this.#capped(container, ownWeight(container, this.#weights.typical(this.commonWeight)));
  }

  #capped(container: ContainerState, shares: number): number {
    return Math.min(shares, Math.floor(this.#weights.most(container)));
  }

  #set(container: ContainerState, shares: number): void {
    container.shares = shares;
    this.#weights.update(container);
  }
}
