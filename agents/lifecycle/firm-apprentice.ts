import { type Random, SeededRandom } from '../../config/index.js';
import { DdpgAgent, type DdpgSettings } from '../ddpg/index.js';
import type { Engine } from '../nn/index.js';
import type { DemonstratedEpisode, Demonstration } from './demonstration.js';
import type { ActingWeights, LifeCycleLearner } from './learner.js';
import { aheadOf, cloneActor, type OfflineSettings } from './offline.js';
import { Surrogate } from './surrogate.js';

export interface FirmApprenticeOptions {
  readonly engine: Engine;
  readonly features: number;
  readonly context: number;
  readonly actions: number;
  readonly ddpg: DdpgSettings;
  readonly offline: OfflineSettings;
  readonly seed: number;
}

/** Episodes that are learnt from offline at most, the newest. */
const WATCHED_MOST = 12;
/** Updates of an evening: each step of an episode once or twice, in batches of 64. */
const EVENING = 100;

/**
 * FIRM's learner under the life cycle: DDPG whose actor scores the actions, the highest being taken, as its prototype has it (simppo-aware.md §4.1). It learns off policy, so
 * what the fallback did goes into the same memory; the actor is led back to the fallback's actions each evening, for its critic knows nothing of others
 * (batch-constrained in the plainest way: §3.3). The same seed and steps, the same agent.
 */
export class FirmApprentice implements LifeCycleLearner {
  updates = 0;
  readonly #options: FirmApprenticeOptions;
  readonly #random: Random;
  #agent: DdpgAgent | null = null;
  #watched: DemonstratedEpisode[] = [];
  #steps: Demonstration[] = [];
  #evenings = 0;
  #lives = 0;
  #input: Float32Array | null = null;
  #trajectory = '';

  constructor(options: FirmApprenticeOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  /** Made when it is first needed: most functions are called too seldom for as much as one episode. */
  #awake(): DdpgAgent {
    const { engine, features, context, actions, ddpg } = this.#options;
    const shape = { features: features + context, actions };
    this.#agent ??= new DdpgAgent(engine, shape, ddpg, this.#random.fork(`agent ${this.#lives}`));
    return this.#agent;
  }

  watch(step: Demonstration): void {
    this.#steps.push(step);
  }

  study(after: Float32Array): number | null {
    const steps = this.#steps;
    if (steps.length === 0) return null;
    this.#watched = [...this.#watched, { steps, after }].slice(-WATCHED_MOST);
    this.#steps = [];
    const agent = this.#awake();
    steps.forEach(({ input, action, reward }, i) => {
      this.#remember(input, action, reward, steps[i + 1]?.input ?? after);
    });
    for (let i = 0; i < EVENING; i++) agent.update();
    const { engine, features, actions, offline } = this.#options;
    const random = this.#random.fork(`evening ${++this.#evenings}`);
    cloneActor(agent.actor, this.#watched, offline, random.fork('clone'));
    agent.settle();
    if (this.#watched.length < offline.from) return null;
    const surrogate = Surrogate.fit(
      engine,
      this.#watched,
      { features, actions },
      offline.surrogate,
      random.fork('surrogate'),
    );
    try {
      const shape = { features: features + this.#options.context, actions };
      return aheadOf(agent.actor, surrogate, shape, offline.length, this.#watched);
    } finally {
      surrogate.dispose();
    }
  }

  decide(input: Float32Array, mask: Uint8Array, learns: boolean): number | null {
    this.#input = input;
    const { action } = this.#awake().decide(input, learns);
    if (action === null) return null;
    let best = -1;
    for (let a = 0; a < action.length; a++) if (mask[a] === 1 && (best < 0 || action[a]! > action[best]!)) best = a;
    return best < 0 ? null : best;
  }

  recall(input: Float32Array): void {
    this.#input = input;
  }

  learn(action: number, reward: number, after: Float32Array, trajectory = ''): void {
    if (trajectory !== this.#trajectory) this.#awake().reset();
    this.#trajectory = trajectory;
    if (this.#input === null) return;
    this.#remember(this.#input, action, reward, after);
    if (this.#awake().update() !== null) this.updates++;
  }

  /** Off policy: a memory has no segments. */
  cut(): void {
    this.#agent?.reset();
  }

  begin(): void {}

  restart(): void {
    this.#agent?.dispose();
    this.#agent = null;
    this.#lives++;
    this.forget();
  }

  forget(): void {
    this.#watched = [];
    this.#steps = [];
    const state = this.#agent?.export();
    this.#agent?.dispose();
    this.#agent = null;
    if (state !== undefined) this.#awake().import(state);
  }

  weights(): ActingWeights {
    const { actor, critic } = this.#awake().export();
    return { actor, critic };
  }

  take({ actor, critic }: ActingWeights): boolean {
    const agent = this.#awake();
    const state = agent.export();
    if (actor.length !== state.actor.length || critic.length !== state.critic.length) return false;
    agent.import({ ...state, actor, critic, targetActor: actor, targetCritic: critic });
    return true;
  }

  dispose(): void {
    this.#agent?.dispose();
  }

  /** As a corner of the cube: 1 for what was done, -1 for all else. */
  #remember(state: Float32Array, done: number, reward: number, next: Float32Array): void {
    const { actions, ddpg } = this.#options;
    const action = Float32Array.from({ length: actions }, (_, a) => (a === done ? 1 : -1));
    this.#awake().remember({ state, action, reward, next, discount: ddpg.gamma });
  }
}
