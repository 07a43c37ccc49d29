import type { Random } from '../../config/index.js';

/** Why there is no distribution: a logit that is not finite, or no allowed action. */
export type CategoricalFault = 'not-finite' | 'nothing-allowed';

/** A distribution over actions from logits and a mask, by log-softmax. It allocates nothing. */
export class MaskedCategorical {
  /** ln p; -Infinity where masked. */
  readonly logProbabilities: Float64Array;
  #entropy = 0;
  #best = 0;

  constructor(actions: number) {
    this.logProbabilities = new Float64Array(actions);
  }

  /** Null when all is well; else no action has a probability. Only allowed logits are looked at. */
  set(logits: Float32Array, mask: Uint8Array): CategoricalFault | null {
    const fault = this.#set(logits, mask);
    if (fault) this.logProbabilities.fill(Number.NEGATIVE_INFINITY);
    return fault;
  }

  #set(logits: Float32Array, mask: Uint8Array): CategoricalFault | null {
    const lp = this.logProbabilities;
    let largest = Number.NEGATIVE_INFINITY;
    let best = -1;
    for (let j = 0; j < lp.length; j++) {
      if (mask[j] !== 1) continue;
      const z = logits[j]!;
      if (!Number.isFinite(z)) return 'not-finite';
      if (z > largest) {
        largest = z;
        best = j;
      }
    }
    if (best < 0) return 'nothing-allowed';
    let sum = 0;
    for (let j = 0; j < lp.length; j++) if (mask[j] === 1) sum += Math.exp(logits[j]! - largest);
    const logSum = largest + Math.log(sum);
    let entropy = 0;
    for (let j = 0; j < lp.length; j++) {
      lp[j] = mask[j] === 1 ? logits[j]! - logSum : Number.NEGATIVE_INFINITY;
      if (mask[j] === 1) entropy -= Math.exp(lp[j]!) * lp[j]!;
    }
    this.#best = best;
    this.#entropy = entropy;
    return null;
  }

  get entropy(): number {
    return this.#entropy;
  }

  /** The most probable action; the first of equals. */
  get best(): number {
    return this.#best;
  }

  sample(random: Random): number {
    let left = random.next();
    let last = this.#best;
    for (let j = 0; j < this.logProbabilities.length; j++) {
      const p = Math.exp(this.logProbabilities[j]!);
      if (p === 0) continue;
      last = j;
      left -= p;
      if (left < 0) return j;
    }
    // Rounding may leave a sliver behind the last action.
    return last;
  }
}
