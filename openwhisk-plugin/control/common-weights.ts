import type { ContainerState, Decider } from '../decision/index.js';
import type { ManagedContainer } from './container.js';
import { type LimitPort, reusedChange } from './ports.js';

/**
 * Weights that change for all containers of a host at once: with the common factor, with the range,
 * and with what siblings that are not managed may lose.
 */
export class CommonWeights<C extends ManagedContainer<C>> {
  readonly #decider: Decider;
  readonly #limits: LimitPort<C>;
  readonly #containers: ReadonlyMap<ContainerState, C>;
  readonly #by = reusedChange<C>();
  /** The common factor of the weights in force, and the largest factor beside it. */
  #factor = 1;
  #highest: number;

  constructor(decider: Decider, limits: LimitPort<C>, containers: ReadonlyMap<ContainerState, C>) {
    this.#decider = decider;
    this.#limits = limits;
    this.#containers = containers;
    this.#highest = decider.weights.highest;
  }

  /** As {@link HostWeights.siblings}, read now and then. */
  onSiblings(factor: number): void {
    this.#decider.weights.siblings = factor;
    this.scale();
    this.lower();
  }

  /**
   * A container has come or gone, or serves a function now. While none keeps its own weight,
   * another one like them changes nothing, and a host has hundreds to look at.
   */
  onContainer({ keepsOwnWeight }: C): void {
    if (keepsOwnWeight || !this.#decider.weights.isAllowed) this.scale();
    else this.follow();
  }

  /** Before a decision: the policy or the range of a new container may have changed the factor. */
  follow(): void {
    if (this.#decider.shares.commonWeight !== this.#factor) this.scale();
  }

  /**
   * Weights have a common factor only while no container keeps its own weight, which would wait for
   * all others. Beside one the range is narrow, too.
   */
  scale(): void {
    const { weights, shares } = this.#decider;
    weights.isAllowed = true;
    for (const { keepsOwnWeight } of this.#containers.values())
      if (keepsOwnWeight) weights.isAllowed = false;
    const before = this.#factor;
    const highest = this.#highest;
    this.#factor = shares.commonWeight;
    this.#highest = weights.highest;
    if (this.#factor === before && this.#highest >= highest) return;
    for (const container of this.#containers.values()) {
      if (!container.boosted && !container.limited) continue;
      const { state } = container;
      const known = state.shares;
      shares.rescale(state, before);
      if (state.shares !== known) this.#write(container);
    }
    // After the others, whose weights theirs follow.
    for (const container of this.#containers.values()) {
      if (!container.hasUnknownWork) continue;
      shares.setTypical(container.state);
      this.#write(container);
    }
  }

  /** After each change of weights or of what runs: {@link HostWeights.lower}. */
  lower(): void {
    this.#decider.weights.lower(this.#writeLowered);
  }

  #write(container: C): void {
    const change = this.#by('policy', 'common_factor');
    this.#limits.setShares(container, container.state.shares, change);
  }

  readonly #writeLowered = (state: ContainerState): void => {
    const container = this.#containers.get(state);
    if (container === undefined || container.ended) return;
    this.#limits.setShares(container, state.shares, this.#by('policy', 'revised'));
  };
}
