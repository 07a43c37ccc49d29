import type { Millicores, Millis } from '../../config/index.js';
import type { ContainerState } from './container-state.js';
import { NO_LIMIT } from './limits.js';
import { removeAt } from './remove-at.js';
import { type DecisionSettings, MAX_WEIGHT_FACTOR } from './settings.js';
import { scaleShares } from './weights.js';

/**
 * Cold-start boosts of one host: weight and quota from a container's start until `/init` is
 * answered. Of containers that start together the n-th gets 1 / n^2 of the range, at least 16 / n
 * (docs/decisions/0007-boosts-share-one-factor.md): more for each of a burst would starve warm
 * activations, which then need more containers.
 */
export class Boosts {
  readonly #starting: ContainerState[] = [];
  readonly #cpu: Millicores;

  /** `cpu`: all of the host's. */
  constructor(cpu: Millicores) {
    this.#cpu = cpu;
  }

  /** Containers that have one, those whose time was over before `now` left out. */
  starting(now: Millis): number {
    for (let i = this.#starting.length - 1; i >= 0; i--) {
      if (this.#starting[i]!.boostUntil <= now) removeAt(this.#starting, i);
    }
    return this.#starting.length;
  }

  /**
   * Sets `container.shares`, at most `most` x `common` x the user's and at least `least`, and
   * `boostUntil`. Returns the quota to write where the container has one: the host's cores;
   * {@link NO_LIMIT} in weight mode.
   */
  begin(
    container: ContainerState,
    { boostTime }: DecisionSettings,
    now: Millis,
    common = 1,
    least = 0,
    most = MAX_WEIGHT_FACTOR,
  ): Millicores {
    if (container.boostUntil > 0) this.end(container);
    const n = this.starting(now) + 1;
    const factor = Math.max(MAX_WEIGHT_FACTOR / n, most / n ** 2);
    const boosted = scaleShares(container.user.shares, common * Math.max(1, factor));
    container.shares = Math.max(boosted, least);
    container.boostUntil = now + boostTime;
    this.#starting.push(container);
    return container.userQuota > NO_LIMIT ? this.#cpu : (NO_LIMIT as Millicores);
  }

  /**
   * The time is over, and `/init` has no answer. `shares`: in force for as long again, until the
   * next expiry. With the user's own it would wait for every raised weight, up to its time limit.
   */
  expire(
    container: ContainerState,
    { boostTime }: DecisionSettings,
    now: Millis,
    shares: number,
  ): void {
    this.#leave(container);
    container.boostUntil = now + boostTime;
    container.shares = shares;
  }

  /** `/init` was answered, or the container has ended: `container.shares` are the user's again. */
  end(container: ContainerState): void {
    this.#leave(container);
    container.boostUntil = 0;
    container.shares = container.user.shares;
  }

  #leave(container: ContainerState): void {
    const place = this.#starting.indexOf(container);
    if (place >= 0) removeAt(this.#starting, place);
  }
}
