import type { Random } from '../../config/index.js';
import type { Engine, Network } from '../nn/index.js';
import { DdpgLearner, type DdpgMetrics, type DdpgShape, type DdpgState } from './learner.js';
import { OrnsteinUhlenbeck } from './noise.js';
import { type Experience, ReplayMemory } from './replay.js';
import type { DdpgSettings } from './settings.js';

/**
 * Continuous actions in [-1, 1], learned off policy: `decide`, `remember` the execution, `update`.
 */
export class DdpgAgent {
  readonly memory: ReplayMemory;
  readonly #learner: DdpgLearner;
  readonly #noise: OrnsteinUhlenbeck;
  readonly #settings: DdpgSettings;
  readonly #exploring: Random;
  readonly #action: Float32Array;

  constructor(engine: Engine, shape: DdpgShape, settings: DdpgSettings, random: Random) {
    this.#learner = new DdpgLearner(engine, shape, settings, random.fork('learner'));
    this.memory = new ReplayMemory(settings.replay, shape.features, shape.actions);
    this.#noise = new OrnsteinUhlenbeck(shape.actions, settings.noise);
    this.#settings = settings;
    this.#exploring = random.fork('exploring');
    this.#action = new Float32Array(shape.actions);
  }

  /** What it acts by: numbers whose tanh is an action. */
  get actor(): Network {
    return this.#learner.actor;
  }

  /** Valid until the next call. Null if the actor's output is not finite: user limits apply. */
  decide(features: Float32Array, explore: boolean): Float32Array | null {
    const action = this.#action;
    this.#learner.actor.forward(features, action);
    if (!action.every(Number.isFinite)) return null;
    if (explore) this.#noise.advance(this.#exploring);
    const { first, decay } = this.#settings.noise;
    const share = explore ? Math.max(0, first - decay * this.#learner.updates) : 0;
    for (let i = 0; i < action.length; i++) {
      const noisy = Math.tanh(action[i]!) + share * this.#noise.values[i]!;
      action[i] = Math.min(1, Math.max(-1, noisy));
    }
    return action;
  }

  /** An experience that is not finite is dropped. */
  remember(experience: Experience): void {
    this.memory.add(experience);
  }

  /** One update; null while too little is remembered. */
  update(): DdpgMetrics | null {
    return this.#learner.update(this.memory);
  }

  /** Copies the networks to their targets: after the actor was trained without its critic. */
  copyToTargets(): void {
    const state = this.#learner.export();
    this.#learner.import({ ...state, targetActor: state.actor, targetCritic: state.critic });
  }

  /** A new episode: noise starts from nothing. */
  reset(): void {
    this.#noise.reset();
  }

  export(): DdpgState {
    return this.#learner.export();
  }

  import(state: DdpgState): void {
    this.#learner.import(state);
  }

  dispose(): void {
    this.#learner.dispose();
  }
}
