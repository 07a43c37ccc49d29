import type { NetworkShape } from './shape.js';

export const ENGINES = ['simd', 'js', 'tensorflow'] as const;
export type EngineName = (typeof ENGINES)[number];

/** Adam's constants (Kingma and Ba 2015), with PPO's usual epsilon of 1e-5 [CleanRL]. */
export interface AdamSettings {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** The gradient is scaled down to this norm where it is longer. */
  readonly maxGradNorm: number;
}

export const adamDefaults: AdamSettings = {
  learningRate: 3e-4,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-5,
  maxGradNorm: 0.5,
};

/** Adam's state, in the order of the parameters. */
export interface Moments {
  readonly first: Float32Array;
  readonly second: Float32Array;
  readonly steps: number;
}

export interface StepResult {
  /** Of the gradient, before it was clipped. */
  readonly norm: number;
  /** False: the gradient was not finite and nothing has changed: a NaN would never leave. */
  readonly applied: boolean;
}

/**
 * A multilayer perceptron of one engine. Arrays are row-major float32; parameters are flat, in the
 * order of `layersOf`. Data of a wrong length throws `GLN_NN_SHAPE`; values are not looked at:
 * callers see to it that logits are finite before they act on them.
 */
export interface Network {
  readonly shape: NetworkShape;
  /** One row. Engines `simd` and `js` allocate nothing here. */
  forward(input: Float32Array, output: Float32Array): void;
  forwardBatch(inputs: Float32Array, rows: number, outputs: Float32Array): void;
  /**
   * Writes dL/d parameters, and dL/d inputs where an array is given, for given dL/d outputs.
   * Changes nothing.
   */
  gradients(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    parameterGradient: Float32Array,
    inputGradient?: Float32Array,
  ): void;
  /** The same gradient, then one step of Adam. */
  train(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    settings: AdamSettings,
    inputGradient?: Float32Array,
  ): StepResult;
  export(): Float32Array;
  import(parameters: Float32Array): void;
  exportMoments(): Moments;
  importMoments(moments: Moments): void;
  /** Gives the memory back; the network is not used again. */
  dispose(): void;
}

/** One mini-batch of PPO, row-major. */
export interface PpoBatch {
  readonly rows: number;
  readonly actorInputs: Float32Array;
  /** The same array as `actorInputs` where both see the same. */
  readonly criticInputs: Float32Array;
  /** Index of the executed action. */
  readonly actions: Int32Array;
  /** 1 allowed, 0 masked, per row and action: the mask of the time of the decision. */
  readonly masks: Uint8Array;
  /** Of the executed action, when it was executed. */
  readonly logProbabilities: Float32Array;
  /** Normalized by the caller. */
  readonly advantages: Float32Array;
  readonly returns: Float32Array;
}

export interface PpoStepSettings extends AdamSettings {
  /** Of the probability ratio: [1 - clip, 1 + clip]. */
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
  /**
   * Mean of (r - 1) - ln r: an estimate of the KL divergence from the policy that acted, never
   * negative (Schulman's k3).
   */
  readonly approxKl: number;
  readonly clipFraction: number;
}

export interface InputGradients {
  readonly actor: Float32Array;
  readonly critic: Float32Array;
}

/**
 * An actor and a critic with weights of their own, trained together. The loss of a batch is
 * policyLoss + valueCoefficient valueLoss - entropyCoefficient entropy, with the clipped surrogate;
 * the log-ratio is cut to +-20.
 */
export interface ActorCritic {
  readonly actor: Network;
  readonly critic: Network;
  /** One step of Adam on both, their gradient clipped together. */
  ppoStep(
    batch: PpoBatch,
    settings: PpoStepSettings,
    inputGradients?: InputGradients,
  ): PpoStepResult;
  dispose(): void;
}

/** Does the arithmetic of networks; nothing else knows how. */
export interface Engine {
  readonly name: EngineName;
  /** What runs, for people: `WebAssembly SIMD`, `tfjs-node 4.22.0`. */
  readonly detail: string;
  /** With parameters of zero, until `import`. */
  network(shape: NetworkShape): Network;
  /** The critic has one output. */
  actorCritic(actor: NetworkShape, critic: NetworkShape): ActorCritic;
}

/**
 * Widest log-ratio between the policy that acted and the present one; e^20 is finite, and so is its
 * product with 0.
 */
export const WIDEST_LOG_RATIO = 20;
