import {
  clampShares,
  MAX_SHARES,
  MIN_SHARES,
  type UserLimits,
  type WeightRange,
} from '../../decision/index.js';
import type { SystemdScope } from './systemd-scope.js';

/** The kernel's range of v2 weights. */
const MIN_WEIGHT = 1;
const MAX_WEIGHT = 10_000;

/** The kernel's v2 weight of a container without shares, which no formula computed. */
const DEFAULT_WEIGHT = 100;

/**
 * How a container runtime turns `--cpu-shares` into a v2 weight: linear before runc 1.3.2 and crun
 * 1.23, curved since (https://github.com/opencontainers/runc/issues/4896,
 * https://github.com/containers/crun/pull/1767).
 */
export type WeightFormula = 'linear' | 'curved';

const CURVED_SINCE: Readonly<Record<string, readonly [number, number, number]>> = {
  runc: [1, 3, 2],
  crun: [1, 23, 0],
};

/** The formula of a runtime such as `runc 1.1.5+ds1`; null for an unknown one. */
export function formulaOfRuntime(runtime: string): WeightFormula | null {
  const match = /^(runc|crun) v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(runtime);
  const since = CURVED_SINCE[match?.[1] ?? ''];
  if (match === null || since === undefined) return null;
  const [major, minor, patch] = [Number(match[2]), Number(match[3]), Number(match[4] ?? 0)];
  const difference = major - since[0] || minor - since[1] || patch - since[2];
  return difference >= 0 ? 'curved' : 'linear';
}

/** The v2 weight a runtime of either kind gives a container made with these shares. */
export function runtimeWeight(shares: number, formula: WeightFormula): number {
  const s = clampShares(shares);
  if (formula === 'linear') return 1 + Math.floor(((s - 2) * 9999) / 262_142);
  if (s === MIN_SHARES) return MIN_WEIGHT;
  if (s === MAX_SHARES) return MAX_WEIGHT;
  const log = Math.log2(s);
  return Math.min(MAX_WEIGHT, Math.ceil(10 ** ((log * log + 125 * log) / 612 - 7 / 34)));
}

/** Which formula made this weight of these shares; null where neither did, or both would have. */
export function formulaOf(shares: number, weight: number): WeightFormula | null {
  const linear = runtimeWeight(shares, 'linear') === weight;
  const curved = runtimeWeight(shares, 'curved') === weight;
  if (linear === curved) return null;
  return linear ? 'linear' : 'curved';
}

/** Neither runtime's weight of the user's shares is ever drift. */
export function isRuntimeWeight(shares: number, weight: number): boolean {
  return runtimeWeight(shares, 'linear') === weight || runtimeWeight(shares, 'curved') === weight;
}

/** The v2 weight for `shares`, in proportion to the weight `base` of the user's shares. */
export function scaledWeight(shares: number, userShares: number, base: number): number {
  const weight = Math.round((base * clampShares(shares)) / clampShares(userShares));
  return Math.min(MAX_WEIGHT, Math.max(MIN_WEIGHT, weight));
}

/**
 * The nearest weight that neither formula makes of the user's shares: one that a killed hook left
 * behind must not be taken for the runtime's.
 */
export function distinctFromUserWeight(weight: number, userShares: number): number {
  let chosen = weight;
  const step = weight < MAX_WEIGHT - 2 ? 1 : -1;
  while (isRuntimeWeight(userShares, chosen)) chosen += step;
  return chosen;
}

/** The shares that correspond to a weight, in proportion to the container's own. */
export function sharesOfWeight(weight: number, userShares: number, base: number): number {
  return (weight * clampShares(userShares)) / base;
}

/** The formula of the host's container runtime, learned from containers whose weight shows it. */
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
    const base = this.own;
    if (shares === user) return base;
    const weight = scaledWeight(shares, user, base);
    return weight === base ? weight : distinctFromUserWeight(weight, user);
  }

  get range(): WeightRange {
    return { low: MIN_WEIGHT / this.own, high: MAX_WEIGHT / this.own };
  }

  shares(weight: number): number {
    if (this.isUserValue(weight)) return this.#user.shares;
    return sharesOfWeight(weight, this.#user.shares, this.own);
  }

  /** Whether it is the weight of the user's shares. */
  isUserValue(weight: number): boolean {
    return this.#own === null ? isRuntimeWeight(this.#user.shares, weight) : weight === this.#own;
  }

  /** The weight of the user's shares. */
  get own(): number {
    return this.#own ?? runtimeWeight(this.#user.shares, this.#host.formula);
  }

  /** From systemd's record, shares that were never set, or a weight that only one formula gives. */
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
