import type { Random } from '../../config/index.js';

/** A distribution over actions from logits and a mask, by log-softmax. It allocates nothing. */
export class MaskedCategorical {
  /** ln p; -Infinity where masked. */
  readonly logProbabilities: Float64Array;
  #best = 0;

  constructor(actions: number) {
    this.logProbabilities = new Float64Array(actions);
  }

  /** False if an allowed logit is not finite or no action is allowed; masked ones are not read. */
  set(logits: Float32Array, mask: Uint8Array): boolean {
    const lp = this.logProbabilities.fill(Number.NEGATIVE_INFINITY);
    let largest = Number.NEGATIVE_INFINITY;
    let best = -1;
    for (let j = 0; j < lp.length; j++) {
      if (mask[j] !== 1) continue;
      const z = logits[j]!;
      if (!Number.isFinite(z)) return false;
      if (z > largest) {
        largest = z;
        best = j;
      }
    }
    if (best < 0) return false;
    let sum = 0;
    for (let j = 0; j < lp.length; j++) if (mask[j] === 1) sum += Math.exp(logits[j]! - largest);
    const logSum = largest + Math.log(sum);
    for (let j = 0; j < lp.length; j++) if (mask[j] === 1) lp[j] = logits[j]! - logSum;
    this.#best = best;
    return true;
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
