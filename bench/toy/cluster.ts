import type { Random } from '../../config/index.js';

/** Actions of an agent in a step: one dimension and one size [SIMPPO]. */
export const TOY_ACTIONS = ['stay', 'out', 'in', 'up', 'down'] as const;
const HORIZONTAL = [0, 1, -1, 0, 0];
const VERTICAL = [0, 0, 0, 1, -1];

const CONTAINERS_MAX = 10;
const SHARES = { least: 128, most: 2048, step: 128, first: 1024 } as const;
const SHARES_PER_CORE = 1024;
/** Requests a second that a container of 1024 shares serves. */
const RATE_PER_CORE = 1.5;
const SLO = 9;
const WALK = 0.05;
const REVERSAL_PENALTY = 0.1;
const WEIGHT_SLO = 0.7;
const WEIGHT_UTILISATION = 0.3;
const PRICE = 0.5;

export interface ToyOptions {
  readonly functions: number;
  readonly cores: number;
  /** Arrivals of each function walk in 1..largestRate, a request a second at a time. */
  readonly maxArrivalRate: number;
  /** Charge each function its share of what is over-committed. */
  readonly price: boolean;
}

/** One function's state, and what its last window looked like. */
export interface ToyFunction {
  arrivals: number;
  containers: number;
  shares: number;
  utilization: number;
  /** Infinity where the queue is saturated. */
  latency: number;
  sloPreservation: number;
  horizontal: number;
  vertical: number;
}

/**
 * The toy environment of [SIMPPO] in closed form, extended by shares and random-walk arrivals. A
 * container serves m = 1.5 c / 1024 x min(1, capacity / all shares) requests a second and waits as
 * M/M/1: latency = 1 / (m - arrivals / containers). The critical load counts as saturated.
 */
export class ToyCluster {
  readonly options: ToyOptions;
  readonly functions: readonly ToyFunction[];
  #random: Random;

  constructor(options: ToyOptions, random: Random) {
    this.options = options;
    this.#random = random;
    this.functions = Array.from({ length: options.functions }, () => ({
      arrivals: 1,
      containers: 0,
      shares: SHARES.first,
      utilization: 0,
      latency: 0,
      sloPreservation: 1,
      horizontal: 0,
      vertical: 0,
    }));
    this.reset(random);
  }

  /** A new episode: random arrivals, and two containers more than arrivals [SIMPPO]. */
  reset(random: Random): void {
    this.#random = random;
    for (const f of this.functions) {
      f.arrivals = 1 + random.below(this.options.maxArrivalRate);
      f.containers = Math.min(CONTAINERS_MAX, f.arrivals + 2);
      f.shares = SHARES.first;
      f.horizontal = 0;
      f.vertical = 0;
    }
    this.measure();
  }

  /** Shares that all functions hold. */
  get total(): number {
    return this.functions.reduce((sum, f) => sum + f.containers * f.shares, 0);
  }

  /** Allocated over available; above 1 everyone waits. */
  get occupancy(): number {
    return this.total / (this.options.cores * SHARES_PER_CORE);
  }

  /** 1 where an action is possible. Scaling in keeps one container. */
  mask(index: number, to: Uint8Array): Uint8Array {
    const { containers, shares } = this.functions[index]!;
    to[0] = 1;
    to[1] = containers < CONTAINERS_MAX ? 1 : 0;
    to[2] = containers > 1 ? 1 : 0;
    to[3] = shares + SHARES.step <= SHARES.most ? 1 : 0;
    to[4] = shares - SHARES.step >= SHARES.least ? 1 : 0;
    return to;
  }

  /** Does an action; true where it takes the last one of its dimension back. */
  act(index: number, action: number): boolean {
    const f = this.functions[index]!;
    const horizontal = HORIZONTAL[action]!;
    const vertical = VERTICAL[action]!;
    const reversed = horizontal * f.horizontal < 0 || vertical * f.vertical < 0;
    f.containers += horizontal;
    f.shares += vertical * SHARES.step;
    f.horizontal = horizontal;
    f.vertical = vertical;
    return reversed;
  }

  /** Sets the number of containers, as a horizontal autoscaler does. */
  scaleTo(index: number, containers: number): void {
    this.functions[index]!.containers = Math.min(CONTAINERS_MAX, Math.max(1, containers));
  }

  /** Arrivals walk, and a window is measured. */
  advance(): void {
    for (const f of this.functions) {
      if (this.#random.next() >= WALK) continue;
      f.arrivals += this.#random.next() < 0.5 ? -1 : 1;
      f.arrivals = Math.min(this.options.maxArrivalRate, Math.max(1, f.arrivals));
    }
    this.measure();
  }

  measure(): void {
    const cpuShare = Math.min(1, 1 / this.occupancy);
    for (const f of this.functions) {
      const own = (RATE_PER_CORE * f.shares) / SHARES_PER_CORE;
      const each = f.arrivals / f.containers;
      f.utilization = Math.min(1, each / own);
      const serviceRate = own * cpuShare - each;
      f.latency = serviceRate > 0 ? 1 / serviceRate : Number.POSITIVE_INFINITY;
      f.sloPreservation = Math.min(1, SLO / f.latency);
    }
  }

  /** 0.3 utilization + 0.7 SLO preservation, without penalty and price; used to compare runs. */
  rawReward(index: number): number {
    const { utilization, sloPreservation } = this.functions[index]!;
    return WEIGHT_UTILISATION * utilization + WEIGHT_SLO * sloPreservation;
  }

  /** The reward for learning: with a penalty for reversals, and the price of over-commitment. */
  reward(index: number, reversed: boolean): number {
    const { containers, shares } = this.functions[index]!;
    const excess = Math.max(0, this.occupancy - 1);
    const price = this.options.price
      ? PRICE * excess * ((containers * shares) / this.total) * this.options.functions
      : 0;
    return this.rawReward(index) - (reversed ? REVERSAL_PENALTY : 0) - price;
  }
}

/** The six local features on the published scales [SIMPPO]. */
export const LOCAL_FEATURES = 6;

export function localFeatures(cluster: ToyCluster, index: number, to: Float32Array, at = 0): void {
  const f = cluster.functions[index]!;
  const own = f.containers * f.shares;
  to[at] = f.utilization;
  to[at + 1] = f.sloPreservation;
  to[at + 2] = Math.min(1, own / 20_480);
  to[at + 3] = Math.min(1, (cluster.total - own) / 92_160);
  to[at + 4] = f.containers / 20;
  to[at + 5] = f.arrivals / 10;
}

/** Features of the virtual agent [SIMPPO]: mean features and actions of the others, occupancy. */
export const VIRTUAL_FEATURES = 9;

export function virtualFeatures(
  cluster: ToyCluster,
  index: number,
  to: Float32Array,
  at: number,
): void {
  to.fill(0, at, at + VIRTUAL_FEATURES);
  const others = cluster.functions.length - 1;
  const one = new Float32Array(LOCAL_FEATURES);
  cluster.functions.forEach((f, j) => {
    if (j === index) return;
    localFeatures(cluster, j, one);
    for (let k = 0; k < LOCAL_FEATURES; k++) to[at + k]! += one[k]! / others;
    to[at + 6]! += f.horizontal / others;
    to[at + 7]! += f.vertical / others;
  });
  to[at + 8] = Math.min(2, cluster.occupancy) / 2;
}
