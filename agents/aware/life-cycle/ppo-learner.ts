import { type Random, SeededRandom } from '../../../config/index.js';
import type { Engine } from '../../nn/index.js';
import { type LearnerState, PpoAgent, type PpoSettings } from '../../ppo/index.js';
import type { DemonstratedEpisode, Demonstration } from './demonstration.js';
import type { ActingWeights, LifeCycleLearner } from './learner.js';
import { learnOffline, type OfflineJob, type OfflineSettings } from './offline.js';
import type { OfflineTrainer } from './offline-trainer.js';
import { PendingTraining } from './pending-training.js';

export interface PpoLifeCycleLearnerOptions {
  readonly engine: Engine;
  /** Numbers that change from step to step, and how many follow that do not (an embedding). */
  readonly features: number;
  readonly context: number;
  readonly actions: number;
  readonly ppo: PpoSettings;
  readonly offline: OfflineSettings;
  /** Steps of one update while online. */
  readonly batch: number;
  readonly seed: number;
  /** What it starts from; null: nothing. */
  readonly start: LearnerState | null;
  /**
   * Where it learns, later than it is told to; absent: where it decides, at once, and then the same
   * seed and steps make the same agent.
   */
  readonly offlineTrainer?: OfflineTrainer;
}

/** Episodes that are learned from offline at most, the newest. */
const EPISODES_MAX = 12;

/**
 * One function's agent, whatever acts: it watches the fallback and learns offline, acts and learns
 * online, or only acts.
 */
export class PpoLifeCycleLearner implements LifeCycleLearner {
  updates = 0;
  readonly #options: PpoLifeCycleLearnerOptions;
  readonly #random: Random;
  #agent: PpoAgent | null = null;
  #watched: DemonstratedEpisode[] = [];
  #steps: Demonstration[] = [];
  #evenings = 0;
  #trajectory = '';
  #after: Float32Array | null = null;
  readonly #tuition = new PendingTraining();

  constructor(options: PpoLifeCycleLearnerOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  /**
   * Made when it is first needed: most functions are called too seldom for as much as one episode.
   */
  get agent(): PpoAgent {
    if (this.#agent !== null) return this.#agent;
    const { engine, features, context, actions, ppo, batch, start } = this.#options;
    const shape = { features: features + context, actions };
    const agent = new PpoAgent({
      engine,
      shape,
      settings: ppo,
      rollout: batch,
      random: this.#random.fork('agent'),
    });
    if (start !== null) agent.import(start);
    this.#agent = agent;
    return agent;
  }

  recordDemonstration(step: Demonstration): void {
    this.#steps.push(step);
  }

  /** With a tutor: of the study that ended last, and none of it twice. */
  trainOffline(after: Float32Array): number | null {
    if (this.#steps.length === 0) return null;
    this.#watched = [...this.#watched, { steps: this.#steps, after }].slice(-EPISODES_MAX);
    this.#steps = [];
    const { engine, offlineTrainer } = this.#options;
    if (offlineTrainer === undefined) {
      const { state, estimatedGain } = learnOffline(engine, this.#studyJob());
      this.agent.import(state);
      return estimatedGain;
    }
    return this.#tuition.trainOffline(
      () => offlineTrainer.trainOffline(this.#studyJob()),
      (state) => this.agent.import(state),
    );
  }

  decide(input: Float32Array, mask: Uint8Array, learns: boolean): number | null {
    return this.agent.decide(input, mask, { greedy: !learns }).action;
  }

  decideAgain(input: Float32Array, mask: Uint8Array): void {
    this.agent.decide(input, mask, { greedy: true });
  }

  learn(action: number, reward: number, after: Float32Array, trajectory = ''): void {
    if (trajectory !== this.#trajectory && this.#after !== null) this.agent.cut(this.#after);
    this.#trajectory = trajectory;
    this.#after = after;
    this.agent.executed(action, reward);
    if (!this.agent.rollout.full) return;
    this.agent.cut(after);
    this.#update();
  }

  cut(after: Float32Array): void {
    this.agent.cut(after);
    // A segment that fills the buffer must be learned from before the next step.
    if (this.agent.ready) this.#update();
  }

  begin(): void {
    this.#tuition.invalidate();
  }

  restart(): void {
    this.forget();
    if (this.#options.start !== null) this.agent.import(this.#options.start);
  }

  forget(): void {
    this.#tuition.invalidate();
    this.#watched = [];
    this.#steps = [];
  }

  weights(): ActingWeights {
    const { actor, critic } = this.agent.export();
    return { actor, critic };
  }

  take({ actor, critic }: ActingWeights): boolean {
    const state = this.agent.export();
    if (actor.length !== state.actor.length || critic.length !== state.critic.length) return false;
    this.#tuition.invalidate();
    this.agent.import({ ...state, actor, critic });
    return true;
  }

  dispose(): void {
    this.#tuition.invalidate();
    this.#agent?.dispose();
  }

  #studyJob(): OfflineJob {
    const { features, context, actions, ppo, offline, seed, start } = this.#options;
    return {
      shape: { features: features + context, actions },
      features,
      ppo,
      settings: offline,
      state: this.agent.export(),
      episodes: this.#watched,
      clone: start === null,
      seed: (seed + ++this.#evenings) >>> 0,
    };
  }

  /**
   * From a full buffer. With a tutor it acts by the old weights until the new ones are there; what
   * it did by the old ones teaches nothing then.
   */
  #update(): void {
    const { features, context, actions, ppo, seed, offlineTrainer } = this.#options;
    if (offlineTrainer === undefined) {
      this.agent.update();
      this.updates++;
      return;
    }
    const job = {
      shape: { features: features + context, actions },
      settings: ppo,
      seed: (seed + this.updates) >>> 0,
      state: this.agent.export(),
      rollout: this.agent.rollout.export(),
    };
    this.agent.rollout.clear();
    if (this.#tuition.busy) return;
    this.#tuition.begin(offlineTrainer.update(job), ({ state }) => {
      this.agent.import(state);
      this.updates++;
    });
  }
}
