import { type AdamSettings, Network } from '../network.js';
import { expectLength, inputsOf, type Layer, layersOf, type NetworkShape } from '../shape.js';
import { adamStep, sumOfSquares } from './adam.js';

/** The reference: plain loops over typed arrays, sums in double precision, Math.tanh. */
export class JsNetwork extends Network {
  readonly parameters: Float32Array;
  readonly gradient: Float32Array;
  readonly #layers: readonly Layer[];
  /** Per layer, for the rows of the last pass; [0] is a copy of the inputs. */
  #activations: Float32Array[] = [];
  #first: Float32Array | null = null;
  #second: Float32Array | null = null;
  #rows = 0;
  readonly #one: Float32Array[];
  /** Sums of one row's outputs, or of one layer's gradient. */
  readonly #sums: Float64Array;

  constructor(shape: NetworkShape) {
    super(shape);
    this.#layers = layersOf(shape);
    this.parameters = new Float32Array(this.parameterCount);
    this.gradient = new Float32Array(this.parameters.length);
    this.#one = shape.widths.map((width) => new Float32Array(width));
    this.#sums = new Float64Array(
      Math.max(...this.#layers.map(({ inputs, outputs }) => (inputs + 1) * outputs)),
    );
  }

  override forward(input: Float32Array, output: Float32Array): void {
    expectLength('input', input, inputsOf(this.shape));
    expectLength('output', output, this.#one.at(-1)!.length);
    this.#one[0]!.set(input);
    this.#pass(this.#one, 1);
    output.set(this.#one.at(-1)!);
  }

  override run(inputs: Float32Array, rows: number, outputs: Float32Array): void {
    outputs.set(this.activate(inputs, rows));
  }

  /** Keeps every layer's activations for `backward`; the outputs are valid until the next call. */
  activate(inputs: Float32Array, rows: number): Float32Array {
    if (this.#rows !== rows) {
      this.#activations = this.shape.widths.map((width) => new Float32Array(rows * width));
      this.#rows = rows;
    }
    this.#activations[0]!.set(inputs);
    this.#pass(this.#activations, rows);
    return this.#activations.at(-1)!;
  }

  #pass(activations: readonly Float32Array[], rows: number): void {
    const { parameters } = this;
    const relu = this.shape.activation === 'relu';
    for (let l = 0; l < this.#layers.length; l++) {
      const { inputs, outputs, kernel, bias } = this.#layers[l]!;
      const x = activations[l]!;
      const y = activations[l + 1]!;
      const hidden = l < this.#layers.length - 1;
      const sums = this.#sums;
      for (let row = 0; row < rows; row++) {
        for (let o = 0; o < outputs; o++) sums[o] = parameters[bias + o]!;
        for (let i = 0, w = kernel; i < inputs; i++) {
          const value = x[row * inputs + i]!;
          for (let o = 0; o < outputs; o++) sums[o]! += value * parameters[w++]!;
        }
        for (let o = 0; o < outputs; o++) {
          const sum = sums[o]!;
          y[row * outputs + o] = !hidden ? sum : relu ? Math.max(0, sum) : Math.tanh(sum);
        }
      }
    }
  }

  /** Writes `gradient` for the rows of the last `activate`; `outputGradient` is dL/d outputs. */
  backward(outputGradient: Float32Array, inputGradient?: Float32Array): void {
    const { parameters, gradient } = this;
    const rows = this.#rows;
    const relu = this.shape.activation === 'relu';
    let delta = outputGradient;
    for (let l = this.#layers.length - 1; l >= 0; l--) {
      const { inputs, outputs, kernel } = this.#layers[l]!;
      const x = this.#activations[l]!;
      const sums = this.#sums.fill(0, 0, (inputs + 1) * outputs);
      for (let row = 0; row < rows; row++) {
        let w = 0;
        for (let i = 0; i < inputs; i++) {
          const value = x[row * inputs + i]!;
          for (let o = 0; o < outputs; o++) sums[w++]! += value * delta[row * outputs + o]!;
        }
        for (let o = 0; o < outputs; o++) sums[w++]! += delta[row * outputs + o]!;
      }
      // Kernel and bias stand one after the other.
      for (let w = 0; w < (inputs + 1) * outputs; w++) gradient[kernel + w] = sums[w]!;
      if (l === 0 && !inputGradient) return;
      const below = l === 0 ? inputGradient! : new Float32Array(rows * inputs);
      for (let row = 0; row < rows; row++)
        for (let i = 0; i < inputs; i++) {
          let sum = 0;
          for (let o = 0; o < outputs; o++)
            sum += delta[row * outputs + o]! * parameters[kernel + i * outputs + o]!;
          const h = x[row * inputs + i]!;
          below[row * inputs + i] = l === 0 ? sum : relu ? (h > 0 ? sum : 0) : sum * (1 - h * h);
        }
      delta = below;
    }
  }

  override backpropagate(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    inputGradient?: Float32Array,
  ): void {
    this.activate(inputs, rows);
    this.backward(outputGradient, inputGradient);
  }

  override gradientSquares(): number {
    return sumOfSquares(this.gradient);
  }

  override readGradient(to: Float32Array): void {
    to.set(this.gradient);
  }

  override step(settings: AdamSettings, scale: number): void {
    this.#first ??= new Float32Array(this.parameters.length);
    this.#second ??= new Float32Array(this.parameters.length);
    this.steps++;
    adamStep(
      this.parameters,
      this.gradient,
      this.#first,
      this.#second,
      this.steps,
      settings,
      scale,
    );
  }

  override readParameters(to: Float32Array): void {
    to.set(this.parameters);
  }

  override writeParameters(from: Float32Array): void {
    this.parameters.set(from);
  }

  override readMoments(first: Float32Array, second: Float32Array): void {
    if (this.#first !== null) first.set(this.#first);
    if (this.#second !== null) second.set(this.#second);
  }

  override writeMoments(first: Float32Array, second: Float32Array): void {
    this.#first = first.slice();
    this.#second = second.slice();
  }

  override dispose(): void {
    this.#activations = [];
    this.#rows = 0;
  }
}
