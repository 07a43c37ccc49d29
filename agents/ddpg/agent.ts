import type { Random } from '../../config/index.js';
import type { Engine, Network } from '../nn/index.js';
import { DdpgLearner, type DdpgMetrics, type DdpgShape, type DdpgState } from './learner.js';
import { OrnsteinUhlenbeck } from './noise.js';
import { type Experience, ReplayMemory } from './replay.js';
import type { DdpgSettings } from './settings.js';

export interface DdpgDecision {
  /** Each in [-1, 1]; null: act on nothing, user limits stand. Valid until the next call. */
  action: Float32Array | null;
  fault: 'not-finite' | null;
}

/**
 * One agent with four networks of its own: continuous actions in [-1, 1], learned off policy. For
 * each step `decide`, then `remember` what was *executed*, then `update`.
 */
export class DdpgAgent {
  readonly memory: ReplayMemory;
  readonly #learner: DdpgLearner;
  readonly #noise: OrnsteinUhlenbeck;
  readonly #settings: DdpgSettings;
  readonly #exploring: Random;
  readonly #action: Float32Array;
  readonly #decision: DdpgDecision = { action: null, fault: null };
  readonly counters = { decisions: 0, 'not-finite': 0, forgotten: 0 };

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

  decide(features: Float32Array, explore: boolean): Readonly<DdpgDecision> {
    const action = this.#action;
    const decision = this.#decision;
    this.counters.decisions++;
    this.#learner.actor.forward(features, action);
    if (!action.every(Number.isFinite)) {
      this.counters['not-finite']++;
      decision.action = null;
      decision.fault = 'not-finite';
      return decision;
    }
    if (explore) this.#noise.advance(this.#exploring);
    const { first, decay } = this.#settings.noise;
    const share = explore ? Math.max(0, first - decay * this.#learner.updates) : 0;
    for (let i = 0; i < action.length; i++) {
      const noisy = Math.tanh(action[i]!) + share * this.#noise.values[i]!;
      action[i] = Math.min(1, Math.max(-1, noisy));
    }
    decision.action = action;
    decision.fault = null;
    return decision;
  }

  remember(experience: Experience): void {
    if (!this.memory.add(experience)) this.counters.forgotten++;
  }

  /** One update; null while too little is remembered. */
  update(): DdpgMetrics | null {
    return this.#learner.update(this.memory);
  }

  /** Copies the networks to their targets: after the actor was trained without its critic. */
  settle(): void {
    const state = this.#learner.export();
    this.#learner.import({ ...state, targetActor: state.actor, targetCritic: state.critic });
  }

  /** A new episode: noise starts from nothing. */
  reset(): void {
    this.#noise.reset();
  }

  /** Weights and moments; what is remembered stays here. */
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
