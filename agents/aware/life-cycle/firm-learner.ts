import type { DdpgSettings, DdpgShape } from '../../ddpg/index.js';
import { FirmAgent } from '../../firm/index.js';
import type { Demonstration } from './demonstration.js';
import { type FirmTrainingJob, trainFirmOffline } from './firm-training.js';
import type {
  ActingWeights,
  LearnedStep,
  LearnerOptions,
  LifeCycleChoice,
  LifeCycleLearner,
} from './learner.js';
import { PendingTraining } from './pending-training.js';
import { transitionsOf } from './steps-by-host.js';

export interface FirmLifeCycleLearnerOptions extends LearnerOptions {
  readonly ddpg: DdpgSettings;
}

/** FIRM's agent under the life cycle: the fallback's steps go into DDPG's replay memory. */
export class FirmLifeCycleLearner implements LifeCycleLearner {
  updates = 0;
  readonly #options: FirmLifeCycleLearnerOptions;
  readonly #pending = new PendingTraining();
  #agent: FirmAgent | null = null;
  #rounds = 0;
  #restarts = 0;

  constructor(options: FirmLifeCycleLearnerOptions) {
    this.#options = options;
  }

  /** Made on first use: most functions never complete one episode. */
  #ensureAgent(): FirmAgent {
    const { engine, ddpg, seed } = this.#options;
    this.#agent ??= new FirmAgent(engine, this.#shape, ddpg, seed, this.#restarts);
    return this.#agent;
  }

  recordDemonstration(step: Demonstration, after: Float32Array, host = ''): void {
    this.#pending.steps.add(host, step, after);
  }

  trainOffline(): number | null {
    const episode = this.#pending.endEpisode();
    if (episode === null) return null;
    const agent = this.#ensureAgent();
    for (const segment of episode)
      for (const { step, next } of transitionsOf(segment))
        agent.rememberStep(step.input, step.action, step.reward, next);
    const { engine, offlineTrainer } = this.#options;
    return this.#pending.trainOffline(
      () =>
        offlineTrainer?.trainFirmOffline(this.#trainingJob()) ??
        trainFirmOffline(engine, this.#trainingJob()),
      (state) => this.#ensureAgent().import(state),
    );
  }

  decide(input: Float32Array, mask: Uint8Array, learns: boolean): LifeCycleChoice | null {
    const action = this.#ensureAgent().choose(input, mask, learns);
    return action === null ? null : { action, logProbabilities: null };
  }

  learn({ input, action, reward }: LearnedStep, after: Float32Array): void {
    const agent = this.#ensureAgent();
    agent.rememberStep(input, action, reward, after);
    if (agent.update() !== null) this.updates++;
  }

  /** A replay memory has no segments to close; only the exploration noise starts again. */
  cut(host?: string): void {
    this.#pending.steps.cut(host);
    this.#agent?.reset();
  }

  begin(): void {
    this.#pending.invalidate();
  }

  restart(): void {
    this.#agent?.dispose();
    this.#agent = null;
    this.#restarts++;
    this.forget();
  }

  forget(): void {
    this.#pending.forget();
    const state = this.#agent?.export();
    this.#agent?.dispose();
    this.#agent = null;
    if (state !== undefined) this.#ensureAgent().import(state);
  }

  weights(): ActingWeights {
    const { actor, critic } = this.#ensureAgent().export();
    return { actor, critic };
  }

  adopt({ actor, critic }: ActingWeights): boolean {
    if (!this.#ensureAgent().adopt(actor, critic)) return false;
    this.#pending.invalidate();
    return true;
  }

  dispose(): void {
    this.#pending.invalidate();
    this.#agent?.dispose();
  }

  get #shape(): DdpgShape {
    const { features, context, actions } = this.#options;
    return { features: features + context, actions };
  }

  #trainingJob(): FirmTrainingJob {
    const { features, ddpg, seed } = this.#options;
    const agent = this.#ensureAgent();
    return {
      shape: this.#shape,
      features,
      ddpg,
      state: agent.export(),
      memory: agent.memory.export(),
      episodes: this.#pending.episodes,
      seed,
      restart: this.#restarts,
      round: ++this.#rounds,
    };
  }
}
