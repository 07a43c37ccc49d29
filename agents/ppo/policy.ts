import type { Random } from '../../config/index.js';
import { type Network, outputsOf } from '../nn/index.js';
import { MaskedCategorical } from './categorical.js';

/** Acts by an actor: features and mask in, an action out. It never learns. */
export class Policy {
  readonly #actor: Network;
  readonly #logits: Float32Array;
  readonly #categorical: MaskedCategorical;

  constructor(actor: Network) {
    this.#actor = actor;
    this.#logits = new Float32Array(outputsOf(actor.shape));
    this.#categorical = new MaskedCategorical(this.#logits.length);
  }

  /**
   * Samples with `random`, else takes the best. Null if none is allowed or a logit is not finite.
   */
  decide(input: Float32Array, mask: Uint8Array, random?: Random): number | null {
    this.#actor.forward(input, this.#logits);
    if (!this.#categorical.set(this.#logits, mask)) return null;
    return random ? this.#categorical.sample(random) : this.#categorical.best;
  }

  /** ln p of every action in the last decision; -Infinity if masked. */
  get logProbabilities(): number[] {
    return [...this.#categorical.logProbabilities];
  }

  /**
   * ln p in the last decision; -Infinity if masked: an on-policy learner cannot use such a step.
   */
  logProbability(action: number): number {
    return this.#categorical.logProbabilities[action] ?? Number.NEGATIVE_INFINITY;
  }
}
