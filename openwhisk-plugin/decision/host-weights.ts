import type { ContainerState } from './container-state.js';
import { MAX_WEIGHT_FACTOR, MIN_WEIGHT_FACTOR } from './settings.js';
import { MAX_SHARES, MIN_SHARES } from './weights.js';

/** Measured: docs/decisions/0014-range-and-reference.md, 0007-boosts-share-one-factor.md. */
const WIDE_FACTOR = MAX_WEIGHT_FACTOR ** 3;

/** Factors on its own weight that the kernel can express for a container. */
export interface WeightRange {
  readonly low: number;
  readonly high: number;
}

/** As v1 has weights: in shares. */
export const sharesRange = (own: number): WeightRange => ({
  low: MIN_SHARES / own,
  high: MAX_SHARES / own,
});

/** What the container's user paid for. */
const ownShares = ({ user, fn }: ContainerState): number =>
  user.shares * (fn?.rightSizeFactor ?? 1);

/**
 * The weights of one host as a whole. On a large invoker OpenWhisk gives a small container the
 * kernel's least weight (2 shares of 1024), and no factor below 1 can be expressed. Only ratios
 * count among siblings, so all managed containers are multiplied by one common factor that makes
 * room for the whole range.
 */
export class HostWeights {
  /**
   * Part of a contended CPU that siblings may lose, .05 = 5 %. Infinity: any, as long as no managed
   * container stands above them.
   */
  readonly siblingLoss: number;
  #needed = 1;
  #upper = Number.POSITIVE_INFINITY;
  #siblingFactor = Number.POSITIVE_INFINITY;
  #own = 0;
  #inForce = 0;
  /** Those that the sums count, each with its place in the list. */
  readonly #running: ContainerState[] = [];
  /** Where siblings have a bound: how many of the running ones have these shares of their user. */
  readonly #sizes = new Map<number, number>();
  #largest = 0;
  /** False: some container keeps its own weight, and must not be made to wait for the others. */
  isAllowed = true;

  constructor(siblingLoss = Number.POSITIVE_INFINITY) {
    this.siblingLoss = siblingLoss;
  }

  /** False: something beside the managed containers must not wait for raised weights. */
  get mayRaise(): boolean {
    const isBounded = Number.isFinite(this.siblingLoss) && Number.isFinite(this.#siblingFactor);
    return this.isAllowed && !isBounded;
  }

  /** The common factor: at least 1, and as small as the range allows. */
  get common(): number {
    const siblings = this.#siblingFactor / MAX_WEIGHT_FACTOR;
    return this.mayRaise ? Math.max(1, Math.min(this.#needed, this.#upper, siblings)) : 1;
  }

  /** Takes a container into account for good, so that the factor does not come and go with it. */
  observe({ low, high }: WeightRange): void {
    if (Number.isFinite(low)) this.#needed = Math.max(this.#needed, low / MIN_WEIGHT_FACTOR);
    if (high > 0) this.#upper = Math.min(this.#upper, high / MAX_WEIGHT_FACTOR);
  }

  /**
   * The largest factor on its own weight that leaves every managed container at most at the weight
   * of its siblings that are not managed; Infinity: there are none.
   */
  set siblings(factor: number) {
    this.#siblingFactor = factor;
  }

  /**
   * The largest weight for a container with which siblings lose at most `siblingLoss`; at least its
   * own. Of a contended CPU a sibling of weight s has s / (s + w) beside weights of w in all, and
   * would have s / (s + o) beside the own weights: (s + w) / (s + o) <= 1 + loss.
   */
  most(container: ContainerState): number {
    if (!Number.isFinite(this.siblingLoss)) return Number.POSITIVE_INFINITY;
    const own = ownShares(container);
    const sibling = this.#siblingFactor * container.user.shares;
    const all = this.#own - container.countedOwn + own;
    const others = this.#inForce - container.countedShares;
    return Math.max(Math.round(own), all + this.siblingLoss * (sibling + all) - others);
  }

  /**
   * The largest factor that a policy may give: what is not managed must not wait for a single
   * urgent activation.
   */
  get highest(): number {
    return this.#isShared ? MAX_WEIGHT_FACTOR : WIDE_FACTOR;
  }

  get #isShared(): boolean {
    return !this.isAllowed || Number.isFinite(this.#siblingFactor);
  }

  /**
   * Weight in force / own weight of what runs: with this factor a container gets what it would get
   * without Gleaner.
   */
  neutral(common: number): number {
    return this.#own > 0 ? this.#inForce / this.#own : common;
  }

  /**
   * The least factor of a container that starts: the geometric mean of weight in force / own
   * weight. It is read once for the whole start, and a single short activation, which the neutral
   * factor would follow, soon ends.
   */
  typical(common: number): number {
    if (this.#running.length === 0) return common;
    let logs = 0;
    for (const { countedShares, countedOwn } of this.#running)
      logs += Math.log(countedShares / countedOwn);
    return Math.exp(logs / this.#running.length);
  }

  /** Sum of the weights in force of the containers in which something runs. */
  get inForce(): number {
    return this.#inForce;
  }

  /**
   * After an end the others' own weights are less, and siblings may lose more than `siblingLoss`:
   * lowers what stands above its own weight, each by the same part, and visits it. Without such a
   * loss it visits no container: it is called after each event.
   */
  lower(visit: (container: ContainerState) => void): void {
    if (!Number.isFinite(this.siblingLoss)) return;
    const sibling = this.#siblingFactor * this.#largest;
    const excess = this.#inForce - this.#own - this.siblingLoss * (sibling + this.#own);
    // Right-sized weights are rounded.
    if (!(excess > 1e-6 * this.#own)) return;
    let above = 0;
    for (const { countedOwn, countedShares } of this.#running)
      above += Math.max(0, countedShares - countedOwn);
    const kept = Math.max(0, 1 - excess / above);
    for (const container of this.#running) {
      const own = container.countedOwn;
      const lowered = Math.floor(own + (container.shares - own) * kept + 1e-9);
      const shares = Math.max(Math.round(own), lowered);
      if (shares >= container.shares) continue;
      container.shares = shares;
      for (const run of container.runs) if (run.enforced || run.late) run.shares = shares;
      this.update(container);
      visit(container);
    }
  }

  /**
   * After each change of the container's weight or of whether something runs in it. Where siblings
   * have a bound, a container that boots takes from them too.
   */
  update(container: ContainerState): void {
    const isBooting = container.boostUntil > 0 && Number.isFinite(this.siblingLoss);
    const isRunning = container.runs.length > 0 || isBooting;
    const own = isRunning ? ownShares(container) : 0;
    const inForce = isRunning ? container.shares : 0;
    const place = container.countedAt;
    const isCounted = place >= 0;
    if (isRunning !== isCounted) {
      if (isRunning) container.countedAt = this.#running.push(container) - 1;
      else this.#uncount(container, place);
    } else if (own === container.countedOwn && inForce === container.countedShares) return;
    this.#countSize(container, isRunning);
    this.#own += own - container.countedOwn;
    this.#inForce += inForce - container.countedShares;
    container.countedOwn = own;
    container.countedShares = inForce;
    if (this.#running.length > 0) return;
    // Right-sized weights are no integers, so that rounding would add up.
    this.#own = 0;
    this.#inForce = 0;
  }

  #uncount(container: ContainerState, place: number): void {
    const last = this.#running.pop()!;
    if (last !== container) {
      this.#running[place] = last;
      last.countedAt = place;
    }
    container.countedAt = -1;
  }

  #countSize(container: ContainerState, isRunning: boolean): void {
    if (!Number.isFinite(this.siblingLoss)) return;
    const size = isRunning ? container.user.shares : 0;
    const before = container.countedSize;
    if (size === before) return;
    container.countedSize = size;
    if (size > 0) {
      this.#sizes.set(size, (this.#sizes.get(size) ?? 0) + 1);
      this.#largest = Math.max(this.#largest, size);
      return;
    }
    const left = this.#sizes.get(before)! - 1;
    if (left > 0) this.#sizes.set(before, left);
    else this.#sizes.delete(before);
    if (left === 0 && before === this.#largest) this.#largest = Math.max(0, ...this.#sizes.keys());
  }
}
