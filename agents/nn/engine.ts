import type { AdamSettings, Network, StepResult } from './network.js';
import type { NetworkShape } from './shape.js';

export const ENGINES = ['simd', 'js', 'tensorflow'] as const;
export type EngineName = (typeof ENGINES)[number];

/** One mini-batch of PPO, row-major. */
export interface PpoBatch {
  readonly rows: number;
  readonly inputs: Float32Array;
  /** Index of the executed action. */
  readonly actions: Int32Array;
  /** 1 allowed, 0 masked, per row and action: the mask of the time of the decision. */
  readonly masks: Uint8Array;
  /** The executed action's log-probability when it was executed. */
  readonly logProbabilities: Float32Array;
  /** Normalized by the caller. */
  readonly advantages: Float32Array;
  readonly returns: Float32Array;
}

export interface PpoStepSettings extends AdamSettings {
  /** Clips the probability ratio to [1 - clip, 1 + clip]. */
  readonly clip: number;
  readonly entropyCoefficient: number;
  readonly valueCoefficient: number;
}

/** Means over the rows, before the step. */
export interface PpoStepResult extends StepResult {
  readonly policyLoss: number;
  /** Half the mean squared error. */
  readonly valueLoss: number;
  readonly entropy: number;
  /** Schulman's estimate k3 of the KL divergence: mean of (r - 1) - ln r. */
  readonly approxKl: number;
  readonly clipFraction: number;
}

/**
 * Trained together on policyLoss + valueCoefficient valueLoss - entropyCoefficient entropy, with
 * the clipped surrogate; the log-ratio is cut to +-20.
 */
export interface ActorCritic {
  readonly actor: Network;
  readonly critic: Network;
  /** One step of Adam on both, their gradient clipped together. */
  ppoStep(batch: PpoBatch, settings: PpoStepSettings): PpoStepResult;
  dispose(): void;
}

export interface Engine {
  readonly name: EngineName;
  /** What runs, for people: `WebAssembly SIMD`, `tfjs-node 4.22.0`. */
  readonly detail: string;
  /** With parameters of zero, until `import`. */
  network(shape: NetworkShape): Network;
  /** The critic has one output. */
  actorCritic(actor: NetworkShape, critic: NetworkShape): ActorCritic;
}

/** e^20 is finite, and so is its product with 0. */
export const WIDEST_LOG_RATIO = 20;
