import type { Engine } from '../../nn/index.js';
import type { Demonstration } from './demonstration.js';
import type { OfflineTrainer } from './offline-trainer.js';

/** What learners by PPO and by DDPG have in common. */
export interface LearnerOptions {
  readonly engine: Engine;
  /** Inputs that change from step to step, and the length of the embedding after them. */
  readonly features: number;
  readonly context: number;
  readonly actions: number;
  readonly seed: number;
  /** Trains in another thread; absent: trains here at once, and the same seed repeats exactly. */
  readonly offlineTrainer?: OfflineTrainer;
}

export interface ActingWeights {
  readonly actor: Float32Array;
  readonly critic: Float32Array;
}

/** What a learner chose. */
export interface LifeCycleChoice {
  readonly action: number;
  /** ln p of every action when it was chosen; null: not sampled, or not used. */
  readonly logProbabilities: readonly number[] | null;
}

/** A step of the learner's own. */
export interface LearnedStep extends Demonstration {
  /** The action's, when it was chosen; null: PPO cannot learn from the step. */
  readonly logProbability: number | null;
}

/** What the life cycle needs of an agent's learner, by PPO or by DDPG. */
export interface LifeCycleLearner {
  readonly updates: number;
  /** The fallback took a step on a host; `after`: the host's next input. */
  recordDemonstration(step: Demonstration, after: Float32Array, host?: string): void;
  /**
   * An episode of the fallback is over. Returns the estimated gain over it per step; null: none.
   */
  trainOffline(): number | null;
  /** Samples while it learns, otherwise takes its best action. Null: no valid action. */
  decide(input: Float32Array, mask: Uint8Array, learns: boolean): LifeCycleChoice | null;
  /**
   * The step as it was executed; weights may have changed since its choice. `after`: the host's
   * next input.
   */
  learn(step: LearnedStep, after: Float32Array, host?: string): void;
  /** The next step on the host does not follow from the last; absent: on any host. */
  cut(host?: string): void;
  /** From now on it acts: training results that are still pending are discarded. */
  begin(): void;
  /** It was worse than the fallback: starts again from its initial weights, offline. */
  restart(): void;
  /** The workload has changed: drops the recorded episodes. */
  forget(): void;
  weights(): ActingWeights;
  /** False: the shapes differ, and nothing has changed. */
  adopt(weights: ActingWeights): boolean;
  dispose(): void;
}
