import { type Random, SeededRandom } from '../../../config/index.js';
import { isLearnable, type LearnerState, PpoAgent, type PpoSettings } from '../../ppo/index.js';
import type { Demonstration } from './demonstration.js';
import type {
  ActingWeights,
  LearnedStep,
  LearnerOptions,
  LifeCycleChoice,
  LifeCycleLearner,
} from './learner.js';
import { learnOffline, type OfflineJob, SURROGATE_FROM } from './offline.js';
import { PendingTraining } from './pending-training.js';
import { StepsByHost } from './steps-by-host.js';

export interface PpoLifeCycleLearnerOptions extends LearnerOptions {
  readonly ppo: PpoSettings;
  /** Recorded episodes from which a surrogate is fitted; default: {@link SURROGATE_FROM}. */
  readonly surrogateFrom?: number;
  /** Steps of one update while online. */
  readonly batch: number;
  /** Initial weights, asked for at each start; null: untrained. */
  readonly start: () => LearnerState | null;
}

/** SIMPPO's learner under the life cycle: one function's PPO agent. */
export class PpoLifeCycleLearner implements LifeCycleLearner {
  updates = 0;
  readonly #options: PpoLifeCycleLearnerOptions;
  readonly #random: Random;
  #agent: PpoAgent | null = null;
  #rounds = 0;
  /** Steps of its own since the last update. */
  readonly #own = new StepsByHost<LearnedStep>();
  readonly #pending = new PendingTraining();

  constructor(options: PpoLifeCycleLearnerOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  /** Made on first use: most functions never complete one episode. */
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
    const initial = start();
    if (initial !== null) agent.import(initial);
    this.#agent = agent;
    return agent;
  }

  recordDemonstration(step: Demonstration, after: Float32Array, host = ''): void {
    this.#pending.steps.add(host, step, after);
  }

  trainOffline(): number | null {
    if (this.#pending.endEpisode() === null) return null;
    const { engine, offlineTrainer } = this.#options;
    return this.#pending.trainOffline(
      () =>
        offlineTrainer?.trainOffline(this.#trainingJob()) ??
        learnOffline(engine, this.#trainingJob()),
      (state) => this.#import(state),
    );
  }

  decide(input: Float32Array, mask: Uint8Array, learns: boolean): LifeCycleChoice | null {
    const action = this.agent.decide(input, mask, !learns);
    if (action === null) return null;
    return { action, logProbabilities: learns ? this.agent.policy.logProbabilities : null };
  }

  learn(step: LearnedStep, after: Float32Array, host = ''): void {
    if (!isLearnable(step.logProbability)) {
      this.#own.cut(host);
      return;
    }
    this.#own.add(host, step, after);
    if (this.#own.count < this.#options.batch) return;
    const segments = this.#own.take();
    // While another thread trains, further steps are dropped, because PPO is on policy.
    if (this.#pending.busy) return;
    for (const segment of segments) {
      for (const one of segment.steps) this.agent.record(one);
      this.agent.cut(segment.after);
    }
    this.#update();
  }

  cut(host?: string): void {
    this.#pending.steps.cut(host);
    this.#own.cut(host);
  }

  begin(): void {
    this.#pending.invalidate();
  }

  restart(): void {
    this.forget();
    const initial = this.#options.start();
    if (initial !== null) this.#import(initial);
  }

  forget(): void {
    this.#pending.forget();
  }

  weights(): ActingWeights {
    const { actor, critic } = this.agent.export();
    return { actor, critic };
  }

  adopt({ actor, critic }: ActingWeights): boolean {
    const state = this.agent.export();
    if (actor.length !== state.actor.length || critic.length !== state.critic.length) return false;
    this.#pending.invalidate();
    this.#import({ ...state, actor, critic });
    return true;
  }

  dispose(): void {
    this.#pending.invalidate();
    this.#agent?.dispose();
  }

  #trainingJob(): OfflineJob {
    const { features, context, actions, ppo, surrogateFrom, seed, start } = this.#options;
    return {
      shape: { features: features + context, actions },
      features,
      ppo,
      surrogateFrom: surrogateFrom ?? SURROGATE_FROM,
      state: this.agent.export(),
      episodes: this.#pending.episodes,
      clone: start() === null,
      seed: (seed + ++this.#rounds) >>> 0,
    };
  }

  /** Steps of other weights are no longer on policy. */
  #import(state: LearnerState): void {
    this.#own.take();
    this.agent.import(state);
  }

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
    this.#pending.begin(offlineTrainer.update(job), ({ state }) => {
      this.#import(state);
      this.updates++;
    });
  }
}
