import { DdpgAgent, type DdpgSettings, type DdpgShape } from '../../ddpg/index.js';
import type { Engine } from '../../nn/index.js';
import type { DemonstratedEpisode, Demonstration } from './demonstration.js';
import { agentRandom, type FirmTrainingJob, trainFirmOffline } from './firm-training.js';
import type { ActingWeights, LifeCycleLearner } from './learner.js';
import type { OfflineSettings } from './offline.js';
import type { OfflineTrainer } from './offline-trainer.js';
import { PendingTraining } from './pending-training.js';

export interface FirmLifeCycleLearnerOptions {
  readonly engine: Engine;
  readonly features: number;
  readonly context: number;
  readonly actions: number;
  readonly ddpg: DdpgSettings;
  readonly offline: OfflineSettings;
  readonly seed: number;
  /**
   * Where it studies, later than it is told to; absent: where it decides, at once, and then the
   * same seed and steps make the same agent.
   */
  readonly offlineTrainer?: OfflineTrainer;
}

/** Episodes that are learned from offline at most, the newest. */
const EPISODES_MAX = 12;
/**
 * FIRM's learner under the life cycle: DDPG whose actor scores the actions, the highest being
 * taken, as its prototype has it (simppo-aware.md §4.1). It learns off policy, so what the fallback
 * did goes into the same memory, and `firm-study.ts` learns from it. While it is online it learns
 * where it decides, one small batch a step.
 */
export class FirmLifeCycleLearner implements LifeCycleLearner {
  updates = 0;
  readonly #options: FirmLifeCycleLearnerOptions;
  readonly #tuition = new PendingTraining();
  #agent: DdpgAgent | null = null;
  #watched: DemonstratedEpisode[] = [];
  #steps: Demonstration[] = [];
  #evenings = 0;
  #lives = 0;
  #input: Float32Array | null = null;
  #trajectory = '';

  constructor(options: FirmLifeCycleLearnerOptions) {
    this.#options = options;
  }

  /**
   * Made when it is first needed: most functions are called too seldom for as much as one episode.
   */
  #awake(): DdpgAgent {
    const { engine, ddpg, seed } = this.#options;
    this.#agent ??= new DdpgAgent(engine, this.#shape, ddpg, agentRandom(seed, this.#lives));
    return this.#agent;
  }

  recordDemonstration(step: Demonstration): void {
    this.#steps.push(step);
  }

  /** With a tutor: of the study that ended last, and none of it twice. */
  trainOffline(after: Float32Array): number | null {
    const steps = this.#steps;
    if (steps.length === 0) return null;
    this.#watched = [...this.#watched, { steps, after }].slice(-EPISODES_MAX);
    this.#steps = [];
    steps.forEach(({ input, action, reward }, i) => {
      this.#remember(input, action, reward, steps[i + 1]?.input ?? after);
    });
    const { engine, offlineTrainer } = this.#options;
    if (offlineTrainer === undefined) {
      const { state, estimatedGain } = trainFirmOffline(engine, this.#studyJob());
      this.#awake().import(state);
      return estimatedGain;
    }
    return this.#tuition.trainOffline(
      () => offlineTrainer.trainFirmOffline(this.#studyJob()),
      (state) => this.#awake().import(state),
    );
  }

  decide(input: Float32Array, mask: Uint8Array, learns: boolean): number | null {
    this.#input = input;
    const { action } = this.#awake().decide(input, learns);
    if (action === null) return null;
    let best = -1;
    for (let a = 0; a < action.length; a++)
      if (mask[a] === 1 && (best < 0 || action[a]! > action[best]!)) best = a;
    return best < 0 ? null : best;
  }

  decideAgain(input: Float32Array): void {
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

  begin(): void {
    this.#tuition.invalidate();
  }

  restart(): void {
    this.#agent?.dispose();
    this.#agent = null;
    this.#lives++;
    this.forget();
  }

  forget(): void {
    this.#tuition.invalidate();
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
    this.#tuition.invalidate();
    agent.import({ ...state, actor, critic, targetActor: actor, targetCritic: critic });
    return true;
  }

  dispose(): void {
    this.#tuition.invalidate();
    this.#agent?.dispose();
  }

  get #shape(): DdpgShape {
    const { features, context, actions } = this.#options;
    return { features: features + context, actions };
  }

  #studyJob(): FirmTrainingJob {
    const { features, ddpg, offline, seed } = this.#options;
    const agent = this.#awake();
    return {
      shape: this.#shape,
      features,
      ddpg,
      settings: offline,
      state: agent.export(),
      memory: agent.memory.export(),
      episodes: this.#watched,
      seed,
      restart: this.#lives,
      round: ++this.#evenings,
    };
  }

  /** As a corner of the cube: 1 for what was done, -1 for all else. */
  #remember(state: Float32Array, done: number, reward: number, next: Float32Array): void {
    const { actions, ddpg } = this.#options;
    const action = Float32Array.from({ length: actions }, (_, a) => (a === done ? 1 : -1));
    this.#awake().remember({ state, action, reward, next, discount: ddpg.gamma });
  }
}
