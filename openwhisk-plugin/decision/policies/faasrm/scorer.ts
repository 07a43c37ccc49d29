import { errorClass, messageOf } from '../../../../config/index.js';
import { LEVELS, STATE_FEATURES } from '../../../../rules/index.js';
import { OPTIONS } from './options.js';
import { SCORER_BINARY } from './scorer-binary.js';
import { ACTOR_WEIGHTS } from './weights.js';

/** The kernel that scores options does not run here. */
class ScorerUnavailableError extends errorClass('GLN_POLICY_SCORER') {}

/** Node has it, its types say nothing of it. */
declare const WebAssembly: {
  readonly Module: new (binary: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

/** What assembly/scorer.ts exports: addresses, and the work. */
interface Kernel {
  readonly memory: { readonly buffer: ArrayBuffer };
  weights(): number;
  features(): number;
  cpu(): number;
  memoryLevels(): number;
  scores(): number;
  score(cpus: number, memories: number): void;
}

/**
 * One instance a thread, whatever the number of policies: each WebAssembly memory takes gigabytes
 * of addresses.
 */
class SharedScorer {
  readonly features: Float32Array;
  readonly cpu: Float32Array;
  readonly memory: Float32Array;
  readonly scores: Float32Array;
  readonly #kernel: Kernel;
  readonly #weights: Float32Array;
  #loaded: Float32Array | null = null;

  constructor() {
    try {
      const binary = Buffer.from(SCORER_BINARY, 'base64');
      this.#kernel = new WebAssembly.Instance(new WebAssembly.Module(binary)).exports as Kernel;
    } catch (error) {
      throw new ScorerUnavailableError(messageOf(error), error);
    }
    const view = (at: number, floats: number): Float32Array =>
      new Float32Array(this.#kernel.memory.buffer, at, floats);
    this.#weights = view(this.#kernel.weights(), ACTOR_WEIGHTS);
    this.features = view(this.#kernel.features(), STATE_FEATURES);
    this.cpu = view(this.#kernel.cpu(), LEVELS);
    this.memory = view(this.#kernel.memoryLevels(), LEVELS);
    this.scores = view(this.#kernel.scores(), OPTIONS);
  }

  score(weights: Float32Array, cpus: number, memories: number): void {
    if (this.#loaded !== weights) {
      this.#weights.set(weights);
      this.#loaded = weights;
    }
    this.#kernel.score(cpus, memories);
  }
}

let shared: SharedScorer | undefined;

/**
 * FaaSRM's network, forward only. Write `features` (nine), `cpu` and `memory` (an amount's feature
 * each), call `score`, read `scores`, which are [cpu][memory] and stand until the next call of any
 * scorer of this thread. Nothing is allocated.
 */
export class OptionScorer {
  readonly features: Float32Array;
  readonly cpu: Float32Array;
  readonly memory: Float32Array;
  readonly scores: Float32Array;
  readonly #shared: SharedScorer;
  readonly #actor: Float32Array;

  /**
   * `actor`: 929 weights, kept and not to be changed. @throws ScorerUnavailableError, RangeError
   */
  constructor(actor: Float32Array) {
    if (actor.length !== ACTOR_WEIGHTS)
      throw new RangeError(`${actor.length} weights where ${ACTOR_WEIGHTS} belong`);
    shared ??= new SharedScorer();
    this.#shared = shared;
    this.#actor = actor;
    this.features = shared.features;
    this.cpu = shared.cpu;
    this.memory = shared.memory;
    this.scores = shared.scores;
  }

  score(cpus: number, memories: number): void {
    this.#shared.score(this.#actor, cpus, memories);
  }

  /** The first option with the highest score among `count`; -1 where one is not finite. */
  best(count: number): number {
    let best = 0;
    for (let i = 0; i < count; i++) {
      const score = this.scores[i] as number;
      if (!Number.isFinite(score)) return -1;
      if (score > (this.scores[best] as number)) best = i;
    }
    return best;
  }

  /** An option drawn by the softmax of the scores, `draw` in [0, 1); -1 where one is not finite. */
  sample(count: number, draw: number): number {
    const best = this.best(count);
    if (best < 0) return -1;
    const largest = this.scores[best] as number;
    let left = draw * this.#total(count, largest);
    for (let i = 0; i < count; i++) {
      left -= Math.exp((this.scores[i] as number) - largest);
      if (left < 0) return i;
    }
    return count - 1;
  }

  /** ln of an option's probability by that softmax. */
  logProbability(count: number, option: number): number {
    const largest = this.scores[this.best(count)] as number;
    return (this.scores[option] as number) - largest - Math.log(this.#total(count, largest));
  }

  #total(count: number, largest: number): number {
    let total = 0;
    for (let i = 0; i < count; i++) total += Math.exp((this.scores[i] as number) - largest);
    return total;
  }
}
