import type { ActivationColumns } from './activations.js';
import { longer } from './timer-list.js';

/** Weights that add up to less are rounding. */
const WEIGHT_EPSILON = 1e-9;
/** Cores by which caps may exceed what there is. */
export const CORE_EPSILON = 1e-6;

/**
 * The runnable activations of each host, ordered by cap / weight. In weighted max-min sharing the
 * satisfied ones come before all others, so one line separates them, and the *level* is the cores
 * that the satisfied leave over the weights behind the line. A change moves the line by a few
 * places and leaves everything else.
 */
export class Runners {
  declare private readonly c: ActivationColumns;
  declare private readonly lists: Int32Array[];
  declare private readonly capSums: Float64Array;
  declare private readonly weights: Float64Array;
  declare readonly counts: Int32Array;
  /** Activations before the line. */
  declare readonly satisfied: Int32Array;
  /** Range that the last `divide` moved the line over. */
  movedFrom = 0;
  movedTo = 0;

  /** The activation that `add` was called for last, if nothing else has changed since; else -1. */
  #lastAdded = -1;
  #lastSatisfied = false;

  constructor(columns: ActivationColumns, hosts: number) {
    this.c = columns;
    this.lists = Array.from({ length: hosts }, () => new Int32Array(16));
    this.capSums = new Float64Array(hosts);
    this.weights = new Float64Array(hosts);
    this.counts = new Int32Array(hosts);
    this.satisfied = new Int32Array(hosts);
  }

  /** The first `counts[host]` count. Good until the next one comes. */
  on(host: number): Int32Array {
    return this.lists[host]!;
  }

  /** Cores of the satisfied. */
  caps(host: number): number {
    return this.capSums[host]!;
  }

  /** Equal ratios keep the order of arrival. */
  add(a: number): void {
    const { host: hosts, ratio, cap, weight } = this.c;
    const host = hosts[a]!;
    let list = this.lists[host]!;
    const count = this.counts[host]!;
    if (count === list.length) {
      list = longer(list);
      this.lists[host] = list;
    }
    const own = ratio[a]!;
    let i = count;
    for (; i > 0; i--) {
      const before = list[i - 1]!;
      if (ratio[before]! <= own) break;
      list[i] = before;
    }
    list[i] = a;
    this.counts[host] = count + 1;
    this.#lastAdded = a;
    this.#lastSatisfied = i < this.satisfied[host]!;
    if (this.#lastSatisfied) {
      this.satisfied[host] = this.satisfied[host]! + 1;
      this.capSums[host] = this.capSums[host]! + cap[a]!;
    } else this.weights[host] = this.weights[host]! + weight[a]!;
  }

  remove(a: number): void {
    const { host: hosts, cap, weight } = this.c;
    const host = hosts[a]!;
    const list = this.lists[host]!;
    const last = this.counts[host]! - 1;
    let i = 0;
    while (list[i] !== a) i++;
    this.#lastAdded = -1;
    if (i < this.satisfied[host]!) {
      this.satisfied[host] = this.satisfied[host]! - 1;
      this.capSums[host] = this.capSums[host]! - cap[a]!;
    } else this.weights[host] = this.weights[host]! - weight[a]!;
    for (; i < last; i++) list[i] = list[i + 1]!;
    this.counts[host] = last;
    // Reset an idle host: sums of fractions drift.
    if (last === 0) this.restart(host);
  }

  /** As `remove` and `add` of an activation whose ratio stays, on a host that is not tight. */
  moveBehindEquals(a: number): void {
    const host = this.c.host[a]!;
    const list = this.lists[host]!;
    const { ratio } = this.c;
    const last = this.counts[host]! - 1;
    let i = 0;
    while (list[i] !== a) i++;
    const own = ratio[a]!;
    for (; i < last && ratio[list[i + 1]!]! <= own; i++) list[i] = list[i + 1]!;
    list[i] = a;
  }

  /**
   * As `remove` and `add` of the activation that was added last, sums rounded as by those; false if
   * the list has changed since.
   */
  addAgain(a: number): boolean {
    if (this.#lastAdded !== a) return false;
    const { host: hosts, cap, weight } = this.c;
    const host = hosts[a]!;
    if (this.counts[host] === 1) return true;
    if (this.#lastSatisfied) this.capSums[host] = this.capSums[host]! - cap[a]! + cap[a]!;
    else this.weights[host] = this.weights[host]! - weight[a]! + weight[a]!;
    return true;
  }

  isSatisfied(a: number): boolean {
    const host = this.c.host[a]!;
    const list = this.lists[host]!;
    const line = this.satisfied[host]!;
    for (let i = 0; i < line; i++) if (list[i] === a) return true;
    return false;
  }

  /** Moves the line to the start: none is satisfied. */
  restart(host: number): void {
    const list = this.lists[host]!;
    let weights = 0;
    for (let i = 0; i < this.counts[host]!; i++) weights += this.c.weight[list[i]!]!;
    this.weights[host] = weights;
    this.capSums[host] = 0;
    this.satisfied[host] = 0;
  }

  /** Moves the line to its position and returns the level; Infinity if all are satisfied. */
  divide(host: number, cores: number): number {
    this.#lastAdded = -1;
    const { ratio, cap, weight } = this.c;
    const list = this.lists[host]!;
    const count = this.counts[host]!;
    const before = this.satisfied[host]!;
    let line = before;
    let caps = this.capSums[host]!;
    let weights = this.weights[host]!;
    let level = levelOf(cores - caps, weights);
    while (line < count && ratio[list[line]!]! <= level) {
      const a = list[line++]!;
      caps += cap[a]!;
      weights -= weight[a]!;
      level = levelOf(cores - caps, weights);
    }
    while (line > 0 && ratio[list[line - 1]!]! > level) {
      const a = list[--line]!;
      caps -= cap[a]!;
      weights += weight[a]!;
      level = levelOf(cores - caps, weights);
    }
    this.capSums[host] = caps;
    this.weights[host] = weights;
    this.satisfied[host] = line;
    this.movedFrom = Math.min(before, line);
    this.movedTo = Math.max(before, line);
    return level;
  }
}

function levelOf(left: number, weights: number): number {
  if (weights > WEIGHT_EPSILON) return left / weights;
  return left > -CORE_EPSILON ? Number.POSITIVE_INFINITY : -1;
}
