import { checkRows, checkShape, expectLength, type NetworkShape, parameterCount } from './shape.js';

/** Adam's constants (Kingma and Ba 2015), with PPO's usual epsilon of 1e-5 [CleanRL]. */
export interface AdamSettings {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** A longer gradient is scaled down to this norm. */
  readonly maxGradNorm: number;
}

export const adamDefaults: AdamSettings = {
  learningRate: 3e-4,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-5,
  maxGradNorm: 0.5,
};

/** The factor that brings a gradient of this norm down to the largest allowed. */
export const clipScale = (norm: number, maxGradNorm: number): number =>
  norm > maxGradNorm ? maxGradNorm / norm : 1;

/** Adam's state, in the order of the parameters. */
export interface Moments {
  readonly first: Float32Array;
  readonly second: Float32Array;
  readonly steps: number;
}

export interface StepResult {
  /** Norm of the gradient, before it was clipped. */
  readonly norm: number;
  /** False: the gradient was not finite and nothing has changed: a NaN would never leave. */
  readonly applied: boolean;
}

/**
 * A multilayer perceptron on the arithmetic of an engine (the abstract methods). Arrays are
 * row-major float32, parameters in the order of `layersOf`. A wrong length throws `GLN_NN_SHAPE`;
 * callers check that logits are finite.
 */
export abstract class Network {
  readonly shape: NetworkShape;
  readonly parameterCount: number;
  steps = 0;

  /** `parameters`: their number, for a network that is composed of checked ones. */
  constructor(shape: NetworkShape, parameters?: number) {
    if (parameters === undefined) checkShape(shape);
    this.shape = shape;
    this.parameterCount = parameters ?? parameterCount(shape);
  }

  /** One row. Engines `simd` and `js` allocate nothing here. */
  forward(input: Float32Array, output: Float32Array): void {
    this.forwardBatch(input, 1, output);
  }

  forwardBatch(inputs: Float32Array, rows: number, outputs: Float32Array): void {
    checkRows(this.shape, inputs, rows, outputs);
    this.run(inputs, rows, outputs);
  }

  /** Writes dL/d parameters, and dL/d inputs if asked for, for given dL/d outputs. */
  gradients(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    parameterGradient: Float32Array,
    inputGradient?: Float32Array,
  ): void {
    checkRows(this.shape, inputs, rows, outputGradient, inputGradient);
    expectLength('dL/d parameters', parameterGradient, this.parameterCount);
    this.scope(() => {
      this.backpropagate(inputs, rows, outputGradient, inputGradient);
      this.readGradient(parameterGradient);
    });
  }

  /** The same gradient, then one step of Adam. */
  train(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    settings: AdamSettings,
    inputGradient?: Float32Array,
  ): StepResult {
    checkRows(this.shape, inputs, rows, outputGradient, inputGradient);
    let result: StepResult = { norm: Number.NaN, applied: false };
    this.scope(() => {
      this.backpropagate(inputs, rows, outputGradient, inputGradient);
      const norm = Math.sqrt(this.gradientSquares());
      const applied = Number.isFinite(norm);
      if (applied) this.step(settings, clipScale(norm, settings.maxGradNorm));
      result = { norm, applied };
    });
    return result;
  }

  export(): Float32Array {
    const parameters = new Float32Array(this.parameterCount);
    this.readParameters(parameters);
    return parameters;
  }

  import(parameters: Float32Array): void {
    expectLength('parameters', parameters, this.parameterCount);
    this.writeParameters(parameters);
  }

  /** Zeros before the first training step. */
  exportMoments(): Moments {
    const first = new Float32Array(this.parameterCount);
    const second = new Float32Array(this.parameterCount);
    this.readMoments(first, second);
    return { first, second, steps: this.steps };
  }

  importMoments({ first, second, steps }: Moments): void {
    expectLength('first moments', first, this.parameterCount);
    expectLength('second moments', second, this.parameterCount);
    this.writeMoments(first, second);
    this.steps = steps;
  }

  /** Releases the memory; the network is not used again. */
  abstract dispose(): void;

  /** Encloses what makes temporary values. */
  scope(work: () => void): void {
    work();
  }

  abstract run(inputs: Float32Array, rows: number, outputs: Float32Array): void;
  /** Computes the gradient and keeps it for `gradientSquares`, `readGradient` and `step`. */
  abstract backpropagate(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    inputGradient?: Float32Array,
  ): void;
  abstract gradientSquares(): number;
  abstract readGradient(to: Float32Array): void;
  /** One step of Adam on the scaled gradient. */
  abstract step(settings: AdamSettings, scale: number): void;
  abstract readParameters(to: Float32Array): void;
  abstract writeParameters(from: Float32Array): void;
  abstract readMoments(first: Float32Array, second: Float32Array): void;
  abstract writeMoments(first: Float32Array, second: Float32Array): void;
}
