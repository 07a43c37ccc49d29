import type { Clock, Millis, Random } from '../../config/index.js';
import { inputsOf, type Network, outputsOf } from '../nn/index.js';
import { type CategoricalFault, MaskedCategorical } from './categorical.js';

/** Why a decision is not used, so that user limits apply. `late`: it missed its deadline. */
type PolicyFault = CategoricalFault | 'late';

export interface PolicyDecision {
  /** Null: act on nothing. */
  action: number | null;
  fault: PolicyFault | null;
}

export interface PolicyOptions {
  readonly clock: Clock;
  /** A decision that took longer is not acted on. */
  readonly deadline: Millis;
}

export type PolicyCounters = Record<PolicyFault, number> & { decisions: number };

/** Acts by an actor: features and mask in, an action out. It never learns. */
export class Policy {
  readonly #actor: Network;
  readonly #options: PolicyOptions;
  readonly #logits: Float32Array;
  readonly #categorical: MaskedCategorical;
  readonly #decision: PolicyDecision = { action: null, fault: null };
  readonly counters: PolicyCounters = {
    decisions: 0,
    'not-finite': 0,
    'nothing-allowed': 0,
    late: 0,
  };

  constructor(actor: Network, options: PolicyOptions) {
    this.#actor = actor;
    this.#options = options;
    this.#logits = new Float32Array(outputsOf(actor.shape));
    this.#categorical = new MaskedCategorical(this.#logits.length);
  }

  /**
   * Samples with `random`, takes the most probable action without. The answer is valid until the
   * next call.
   */
  decide(features: Float32Array, mask: Uint8Array, random?: Random): Readonly<PolicyDecision> {
    const { clock, deadline } = this.#options;
    const started = clock.monotonic();
    this.#actor.forward(features, this.#logits);
    const decision = this.#decision;
    let fault: PolicyFault | null = this.#categorical.set(this.#logits, mask);
    const action = fault
      ? null
      : random
        ? this.#categorical.sample(random)
        : this.#categorical.best;
    if (!fault && clock.monotonic() - started > deadline) fault = 'late';
    this.counters.decisions++;
    if (fault) this.counters[fault]++;
    decision.fault = fault;
    decision.action = fault ? null : action;
    return decision;
  }

  /**
   * ln p of the executed action in the last decision; -Infinity if it was masked. An on-policy
   * learner cannot use such a step, so it is not recorded.
   */
  logProbability(action: number): number {
    return this.#categorical.logProbabilities[action] ?? Number.NEGATIVE_INFINITY;
  }

  /** Of the last decision, in nats. */
  get entropy(): number {
    return this.#categorical.entropy;
  }

  /**
   * Decides on nothing until the code is compiled, so that the first real decision is not the
   * slowest.
   */
  warmUp(times = 200): void {
    const features = new Float32Array(inputsOf(this.#actor.shape));
    const mask = new Uint8Array(this.#logits.length).fill(1);
    const before = { ...this.counters };
    for (let i = 0; i < times; i++) this.decide(features, mask);
    Object.assign(this.counters, before);
  }
}
