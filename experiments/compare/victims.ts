import { ENOUGH } from '../../simulator/engine/index.js';
import type { FunctionColumns } from './job.js';

/** A function compared with itself under `fixed`. */
interface Victim {
  readonly name: string;
  readonly activations: number;
  readonly fixed: number;
  readonly slowdown: number;
  readonly ratio: number;
}

/**
 * Functions that are slower or faster, and by how much: mean slowdown of waiting and running per
 * function, seeds together.
 */
export interface Victims {
  /** Functions with enough activations to be compared. */
  readonly judged: number;
  /** Slower by more than `SLOWDOWN_BOUND`, the product's bound for deprioritized functions. */
  readonly slowedDown: number;
  /** Faster by more than the same ratio. */
  readonly spedUp: number;
  readonly worst: readonly Victim[];
}

const SLOWDOWN_BOUND = 1.25;
const SHOWN = 5;

/** Sums over seeds, per function. */
export class FunctionTotals {
  #names: readonly string[] = [];
  #successes = new Float64Array(0);
  #slowdown = new Float64Array(0);
  #p99 = new Float64Array(0);
  #slo = new Float64Array(0);

  /** The same workload's functions each time. */
  add({ names, successes, slowdown, p99Ms, sloMs }: FunctionColumns): void {
    if (this.#names.length === 0) {
      this.#names = names;
      this.#successes = new Float64Array(names.length);
      this.#slowdown = new Float64Array(names.length);
      this.#p99 = new Float64Array(names.length);
      this.#slo = new Float64Array(names.length);
    }
    for (let i = 0; i < names.length; i++) {
      const activations = successes[i]!;
      if (activations === 0) continue;
      this.#successes[i]! += activations;
      this.#slowdown[i]! += activations * slowdown[i]!;
      this.#p99[i]! += activations * p99Ms[i]!;
      this.#slo[i]! += activations * sloMs[i]!;
    }
  }

  /**
   * p99 of init + run over the objective, ascending, of functions with enough activations; the
   * objective is the one under `fixed`.
   */
  objectiveRatios(fixed: FunctionTotals): number[] {
    const ratios: number[] = [];
    for (let i = 0; i < this.#names.length; i++) {
      const ratio = this.#p99[i]! / this.#successes[i]! / (fixed.#slo[i]! / fixed.#successes[i]!);
      if (this.#isKnown(i) && fixed.#isKnown(i) && Number.isFinite(ratio)) ratios.push(ratio);
    }
    return ratios.sort((a, b) => a - b);
  }

  against(fixed: FunctionTotals): Victims {
    const all: Victim[] = [];
    for (let i = 0; i < this.#names.length; i++) {
      if (!this.#isKnown(i) || !fixed.#isKnown(i)) continue;
      const slowdown = this.#slowdown[i]! / this.#successes[i]!;
      const before = fixed.#slowdown[i]! / fixed.#successes[i]!;
      const name = this.#names[i]!;
      all.push({
        name,
        activations: this.#successes[i]!,
        fixed: before,
        slowdown,
        ratio: slowdown / before,
      });
    }
    all.sort((a, b) => b.ratio - a.ratio || (a.name < b.name ? -1 : 1));
    return {
      judged: all.length,
      slowedDown: all.filter(({ ratio }) => ratio > SLOWDOWN_BOUND).length,
      spedUp: all.filter(({ ratio }) => ratio < 1 / SLOWDOWN_BOUND).length,
      worst: all.slice(0, SHOWN),
    };
  }

  #isKnown(i: number): boolean {
    return this.#successes[i]! >= ENOUGH;
  }
}
