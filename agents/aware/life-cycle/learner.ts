import type { Demonstration } from './demonstration.js';

/** Weights of an agent, as far as it acts and judges by them: what goes along when it rests. */
export interface ActingWeights {
  readonly actor: Float32Array;
  readonly critic: Float32Array;
}

/**
 * One function's agent as its life cycle leads it, whatever it learns by: it watches the fallback
 * and learns offline, acts and learns online, or only acts.
 */
export interface LifeCycleLearner {
  /** Updates made online. */
  readonly updates: number;
  /** The fallback took a step. */
  recordDemonstration(step: Demonstration): void;
  /**
   * The watched episode is over; `after` is what was seen behind it. Returns what the agent would
   * have earned a step beyond the fallback, once it can tell.
   */
  trainOffline(after: Float32Array): number | null;
  /**
   * Explores while it learns; else its best action. Null: no sound action, and who asks decides
   * otherwise.
   */
  decide(input: Float32Array, mask: Uint8Array, learns: boolean): number | null;
  /** Decides the same again: what is learned next belongs to this step. */
  decideAgain(input: Float32Array, mask: Uint8Array): void;
  /**
   * What an action brought that was executed. Steps of another `trajectory` than the last one's
   * begin a segment of their own.
   */
  learn(action: number, reward: number, after: Float32Array, trajectory?: string): void;
  /** What comes next has nothing to do with what was. */
  cut(after: Float32Array): void;
  /** From now on it acts: what is still being studied comes too late. */
  begin(): void;
  /** Worse than the fallback: it begins again where it began, and watches anew. */
  restart(): void;
  /** What was watched is of another world. */
  forget(): void;
  weights(): ActingWeights;
  /** False: they are of another shape, and nothing has changed. */
  take(weights: ActingWeights): boolean;
  dispose(): void;
}
