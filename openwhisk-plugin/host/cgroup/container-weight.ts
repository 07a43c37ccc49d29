import type { UserLimits } from '../../decision/index.js';
import {
  DEFAULT_WEIGHT,
  distinctFromUserWeight,
  formulaOf,
  isRuntimeWeight,
  runtimeWeight,
  scaledWeight,
  sharesOfWeight,
  type WeightFormula,
} from './shares.js';
import type { SystemdScope } from './systemd-scope.js';

/** Of the host's container runtime, learned from containers whose weight shows it. */
export interface HostFormula {
  formula: WeightFormula;
}

/** Shares as v2 weights of one container, in proportion to the weight the runtime gave it. */
export class ContainerWeight {
  readonly #user: UserLimits;
  readonly #host: HostFormula;
  /** The runtime's weight; null if only a leftover one is visible: the host's formula decides. */
  readonly #own: number | null;

  /** @param found the weight in force when the container is opened */
  constructor(user: UserLimits, found: number, scope: SystemdScope | null, host: HostFormula) {
    this.#user = user;
    this.#host = host;
    this.#own = this.#find(found, scope);
  }

  of(shares: number): number {
    const { shares: user } = this.#user;
    const base = this.#base;
    if (shares === user) return base;
    const weight = scaledWeight(shares, user, base);
    return weight === base ? weight : distinctFromUserWeight(weight, user);
  }

  shares(weight: number): number {
    if (this.isUserValue(weight)) return this.#user.shares;
    return sharesOfWeight(weight, this.#user.shares, this.#base);
  }

  /** Whether it is the weight of the user's shares. */
  isUserValue(weight: number): boolean {
    return this.#own === null ? isRuntimeWeight(this.#user.shares, weight) : weight === this.#own;
  }

  get #base(): number {
    return this.#own ?? runtimeWeight(this.#user.shares, this.#host.formula);
  }

  /**
   * Only from certain sources: systemd's record of the runtime's weight, shares that were never
   * set, or a weight that exactly one formula gives for the user's shares.
   */
  #find(found: number, scope: SystemdScope | null): number | null {
    const recorded = scope?.recorded('CPUWeight') ?? null;
    if (recorded !== null) return recorded;
    if (this.#user.sharesUnset === true || scope?.hasRecord === true) return DEFAULT_WEIGHT;
    const formula = formulaOf(this.#user.shares, found);
    if (formula === null) return null;
    this.#host.formula = formula;
    return found;
  }
}
