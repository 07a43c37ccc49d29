import type { Tensor, Tensor1D, Tensor2D, Variable } from '@tensorflow/tfjs';
import { checkRows } from '../batch.js';
import type { AdamSettings, Moments, Network, StepResult } from '../engine.js';
import { clipScale } from '../js/adam.js';
import {
  checkShape,
  expectLength,
  inputsOf,
  layersOf,
  type NetworkShape,
  outputsOf,
  parameterCount,
} from '../shape.js';
import type { TensorFlow } from './load.js';

/**
 * The network in TensorFlow.js operations and gradients. Everything runs in `tidy`, so that no
 * tensor leaks. Adam runs once over all parameters, concatenated, as an operation's overhead
 * exceeds its arithmetic here.
 */
export class TensorFlowNetwork implements Network {
  readonly shape: NetworkShape;
  readonly #tf: TensorFlow;
  /** kernel, bias, kernel, bias, ... */
  readonly variables: readonly Variable[];
  #first: Tensor1D | null = null;
  #second: Tensor1D | null = null;
  #steps = 0;

  constructor(shape: NetworkShape, tf: TensorFlow) {
    checkShape(shape);
    this.shape = shape;
    this.#tf = tf;
    this.variables = layersOf(shape).flatMap(({ inputs, outputs }) =>
      [[inputs, outputs], [outputs]].map((size) => {
        const zeros = tf.zeros(size);
        const variable = tf.variable(zeros);
        zeros.dispose();
        return variable;
      }),
    );
  }

  /** Inside `tidy`: the outputs for rows of inputs, by given kernels and biases. */
  apply(inputs: Tensor2D, variables: readonly Tensor[] = this.variables): Tensor2D {
    let h: Tensor = inputs;
    for (let i = 0; i < variables.length; i += 2) {
      h = h.matMul(variables[i]!).add(variables[i + 1]!);
      if (i < variables.length - 2) h = this.shape.activation === 'tanh' ? h.tanh() : h.relu();
    }
    return h as Tensor2D;
  }

  forward(input: Float32Array, output: Float32Array): void {
    this.forwardBatch(input, 1, output);
  }

  forwardBatch(inputs: Float32Array, rows: number, outputs: Float32Array): void {
    checkRows(this.shape, inputs, rows, outputs);
    const tf = this.#tf;
    tf.tidy(() => {
      outputs.set(this.apply(tf.tensor2d(inputs, [rows, inputsOf(this.shape)])).dataSync());
    });
  }

  gradients(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    parameterGradient: Float32Array,
    inputGradient?: Float32Array,
  ): void {
    checkRows(this.shape, inputs, rows, outputGradient, inputGradient);
    expectLength('dL/d parameters', parameterGradient, parameterCount(this.shape));
    this.#tf.tidy(() => {
      parameterGradient.set(this.#gradient(inputs, rows, outputGradient, inputGradient).dataSync());
    });
  }

  train(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    settings: AdamSettings,
    inputGradient?: Float32Array,
  ): StepResult {
    checkRows(this.shape, inputs, rows, outputGradient, inputGradient);
    const tf = this.#tf;
    return tf.tidy(() => {
      const gradient = this.#gradient(inputs, rows, outputGradient, inputGradient);
      const norm = Math.sqrt(gradient.square().sum().dataSync()[0]!);
      if (!Number.isFinite(norm)) return { norm, applied: false };
      this.step(gradient, settings, clipScale(norm, settings.maxGradNorm));
      return { norm, applied: true };
    });
  }

  /** Inside `tidy`: dL/d parameters end to end, for L = sum of outputs x outputGradient. */
  #gradient(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    inputGradient?: Float32Array,
  ): Tensor1D {
    const tf = this.#tf;
    const delta = tf.tensor2d(outputGradient, [rows, outputsOf(this.shape)]);
    const loss = (x: Tensor, ...variables: Tensor[]): Tensor =>
      this.apply(x as Tensor2D, variables)
        .mul(delta)
        .sum();
    const x = tf.tensor2d(inputs, [rows, inputsOf(this.shape)]);
    const [dx, ...rest] = tf.grads(loss)([x, ...this.variables]);
    inputGradient?.set(dx!.dataSync());
    return this.flat(rest);
  }

  flat(tensors: readonly Tensor[]): Tensor1D {
    return this.#tf.concat1d(tensors.map((tensor) => tensor.flatten()));
  }

  /** Inside `tidy`: one step of Adam on a gradient end to end. */
  step(
    gradient: Tensor1D,
    { learningRate, beta1, beta2, epsilon }: AdamSettings,
    scale: number,
  ): void {
    const tf = this.#tf;
    const steps = ++this.#steps;
    const zeros = (): Tensor1D => tf.zeros([parameterCount(this.shape)]);
    const g = gradient.mul(scale) as Tensor1D;
    const first = (this.#first ?? zeros()).mul(beta1).add(g.mul(1 - beta1)) as Tensor1D;
    const second = (this.#second ?? zeros()).mul(beta2).add(g.square().mul(1 - beta2)) as Tensor1D;
    this.#keepMoments(first, second, steps);
    const change = first.mul(learningRate / (1 - beta1 ** steps)).div(
      second
        .mul(1 / (1 - beta2 ** steps))
        .sqrt()
        .add(epsilon),
    ) as Tensor1D;
    this.#assign(this.flat(this.variables).sub(change) as Tensor1D);
  }

  #keepMoments(first: Tensor1D, second: Tensor1D, steps: number): void {
    this.#first?.dispose();
    this.#second?.dispose();
    this.#first = this.#tf.keep(first);
    this.#second = this.#tf.keep(second);
    this.#steps = steps;
  }

  #assign(flat: Tensor1D): void {
    const sizes = this.variables.map((variable) => variable.size);
    this.#tf.split(flat, sizes).forEach((part, i) => {
      const variable = this.variables[i]!;
      variable.assign(part.reshape(variable.shape));
    });
  }

  export(): Float32Array {
    return this.#tf.tidy(() => this.flat(this.variables).dataSync().slice() as Float32Array);
  }

  import(parameters: Float32Array): void {
    expectLength('parameters', parameters, parameterCount(this.shape));
    this.#tf.tidy(() => this.#assign(this.#tf.tensor1d(parameters.slice())));
  }

  exportMoments(): Moments {
    const read = (tensor: Tensor1D | null): Float32Array =>
      tensor
        ? (tensor.dataSync().slice() as Float32Array)
        : new Float32Array(parameterCount(this.shape));
    return { first: read(this.#first), second: read(this.#second), steps: this.#steps };
  }

  importMoments({ first, second, steps }: Moments): void {
    expectLength('first moments', first, parameterCount(this.shape));
    expectLength('second moments', second, parameterCount(this.shape));
    this.#keepMoments(this.#tf.tensor1d(first.slice()), this.#tf.tensor1d(second.slice()), steps);
  }

  dispose(): void {
    for (const variable of this.variables) variable.dispose();
    this.#first?.dispose();
    this.#second?.dispose();
    this.#first = null;
    this.#second = null;
  }
}
