import type { Tensor, Tensor1D, Tensor2D, Variable } from '@tensorflow/tfjs';
import { type AdamSettings, Network } from '../network.js';
import { inputsOf, layersOf, type NetworkShape, outputsOf } from '../shape.js';
import type { TensorFlow } from './load.js';

/**
 * Everything runs in `tidy`, so that no tensor leaks. Adam runs once over all parameters, as an
 * operation's overhead exceeds its arithmetic here.
 */
export class TensorFlowNetwork extends Network {
  readonly #tf: TensorFlow;
  /** kernel, bias, kernel, bias, ... */
  readonly variables: readonly Variable[];
  #first: Tensor1D | null = null;
  #second: Tensor1D | null = null;
  /** The gradient of the last `backpropagate`, inside its `tidy`. */
  #gradient: Tensor1D | null = null;

  constructor(shape: NetworkShape, tf: TensorFlow) {
    super(shape);
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

  override scope(work: () => void): void {
    this.#tf.tidy(work);
    this.#gradient = null;
  }

  override run(inputs: Float32Array, rows: number, outputs: Float32Array): void {
    const tf = this.#tf;
    tf.tidy(() => {
      outputs.set(this.apply(tf.tensor2d(inputs, [rows, inputsOf(this.shape)])).dataSync());
    });
  }

  override gradientSquares(): number {
    return this.#gradient!.square().sum().dataSync()[0]!;
  }

  override readGradient(to: Float32Array): void {
    to.set(this.#gradient!.dataSync());
  }

  override step(settings: AdamSettings, scale: number): void {
    this.stepOn(this.#gradient!, settings, scale);
  }

  override backpropagate(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    inputGradient?: Float32Array,
  ): void {
    const tf = this.#tf;
    const delta = tf.tensor2d(outputGradient, [rows, outputsOf(this.shape)]);
    const loss = (x: Tensor, ...variables: Tensor[]): Tensor =>
      this.apply(x as Tensor2D, variables)
        .mul(delta)
        .sum();
    const x = tf.tensor2d(inputs, [rows, inputsOf(this.shape)]);
    const [dx, ...rest] = tf.grads(loss)([x, ...this.variables]);
    inputGradient?.set(dx!.dataSync());
    this.#gradient = this.flat(rest);
  }

  flat(tensors: readonly Tensor[]): Tensor1D {
    return this.#tf.concat1d(tensors.map((tensor) => tensor.flatten()));
  }

  /** Inside `tidy`: one step of Adam on a concatenated gradient. */
  stepOn(
    gradient: Tensor1D,
    { learningRate, beta1, beta2, epsilon }: AdamSettings,
    scale: number,
  ): void {
    const tf = this.#tf;
    const steps = ++this.steps;
    const zeros = (): Tensor1D => tf.zeros([this.parameterCount]);
    const g = gradient.mul(scale) as Tensor1D;
    const first = (this.#first ?? zeros()).mul(beta1).add(g.mul(1 - beta1)) as Tensor1D;
    const second = (this.#second ?? zeros()).mul(beta2).add(g.square().mul(1 - beta2)) as Tensor1D;
    this.#keepMoments(first, second);
    const change = first.mul(learningRate / (1 - beta1 ** steps)).div(
      second
        .mul(1 / (1 - beta2 ** steps))
        .sqrt()
        .add(epsilon),
    ) as Tensor1D;
    this.#assign(this.flat(this.variables).sub(change) as Tensor1D);
  }

  #keepMoments(first: Tensor1D, second: Tensor1D): void {
    this.#first?.dispose();
    this.#second?.dispose();
    this.#first = this.#tf.keep(first);
    this.#second = this.#tf.keep(second);
  }

  #assign(flat: Tensor1D): void {
    const sizes = this.variables.map((variable) => variable.size);
    this.#tf.split(flat, sizes).forEach((part, i) => {
      const variable = this.variables[i]!;
      variable.assign(part.reshape(variable.shape));
    });
  }

  override readParameters(to: Float32Array): void {
    this.#tf.tidy(() => to.set(this.flat(this.variables).dataSync()));
  }

  override writeParameters(from: Float32Array): void {
    this.#tf.tidy(() => this.#assign(this.#tf.tensor1d(from.slice())));
  }

  override readMoments(first: Float32Array, second: Float32Array): void {
    if (this.#first !== null) first.set(this.#first.dataSync());
    if (this.#second !== null) second.set(this.#second.dataSync());
  }

  override writeMoments(first: Float32Array, second: Float32Array): void {
    this.#keepMoments(this.#tf.tensor1d(first.slice()), this.#tf.tensor1d(second.slice()));
  }

  override dispose(): void {
    for (const variable of this.variables) variable.dispose();
    this.#first?.dispose();
    this.#second?.dispose();
    this.#first = null;
    this.#second = null;
  }
}
