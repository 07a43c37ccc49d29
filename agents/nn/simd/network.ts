import { type AdamSettings, Network } from '../network.js';
import { checkRows, inputsOf, layersOf, type NetworkShape, outputsOf } from '../shape.js';
import { extent, padded, type Workspace } from './workspace.js';

/** Offsets, in words, of the fields of `Network` in assembly/network.ts. */
const FIELD = {
  parameters: 0,
  gradients: 1,
  first: 2,
  second: 3,
  size: 4,
  activation: 5,
  layers: 6,
  widths: 7,
} as const;

export class SimdNetwork extends Network {
  /** Address of the description that the kernels read. */
  readonly at: number;
  readonly activations: number;
  readonly widest: number;
  readonly size: number;
  readonly #work: Workspace;
  readonly #inputs: number;
  readonly #outputs: number;
  readonly #parameters: number;
  #first = 0;
  #second = 0;
  #disposed = false;

  constructor(shape: NetworkShape, workspace: Workspace) {
    super(shape);
    this.#work = workspace;
    this.#inputs = inputsOf(shape);
    this.#outputs = outputsOf(shape);
    ({ activations: this.activations, widest: this.widest } = extent(shape));
    this.size = layersOf(shape).reduce(
      (sum, { inputs, outputs }) => sum + (inputs + 1) * padded(outputs),
      0,
    );
    const { arena } = workspace;
    this.#parameters = arena.allocate(4 * this.size);
    this.at = arena.allocate(this.#descriptionBytes);
    const { i32 } = arena;
    const word = this.at >> 2;
    i32[word + FIELD.parameters] = this.#parameters;
    i32[word + FIELD.size] = this.size;
    i32[word + FIELD.activation] = shape.activation === 'tanh' ? 0 : 1;
    i32[word + FIELD.layers] = shape.widths.length - 1;
    shape.widths.forEach((width, i) => {
      i32[word + FIELD.widths + i] = width;
    });
  }

  get #descriptionBytes(): number {
    return 4 * (FIELD.widths + this.shape.widths.length);
  }

  override forward(input: Float32Array, output: Float32Array): void {
    const { kernels, arena, input: x, output: y, scratch } = this.#work;
    const inputs = this.#inputs;
    const outputs = this.#outputs;
    if (input.length !== inputs || output.length !== outputs)
      checkRows(this.shape, input, 1, output);
    const { f32 } = arena;
    // Loops beat set() and subarray() at this length, and allocate nothing.
    for (let i = 0, at = x >> 2; i < inputs; i++) f32[at + i] = input[i]!;
    kernels.forward(this.at, x, y, scratch);
    for (let i = 0, at = y >> 2; i < outputs; i++) output[i] = f32[at + i]!;
  }

  override run(inputs: Float32Array, rows: number, outputs: Float32Array): void {
    const { kernels, arena } = this.#work;
    const x = this.#work.staging(4 * (inputs.length + outputs.length));
    const y = x + 4 * inputs.length;
    const work = this.#work.work(this.activations, this.widest);
    arena.f32.set(inputs, x >> 2);
    kernels.forwardBatch(this.at, x, rows, y, work);
    outputs.set(arena.f32.subarray(y >> 2, (y >> 2) + outputs.length));
  }

  override gradientSquares(): number {
    return this.#work.kernels.sumOfSquares(this.prepareGradient(0), this.size);
  }

  override readGradient(to: Float32Array): void {
    this.#unpad(this.prepareGradient(0), to);
  }

  override step({ learningRate, beta1, beta2, epsilon }: AdamSettings, scale: number): void {
    this.prepareMoments();
    const steps = ++this.steps;
    this.#work.kernels.adam(
      this.#parameters,
      this.prepareGradient(0),
      this.#first,
      this.#second,
      this.size,
      scale,
      learningRate,
      beta1,
      beta2,
      epsilon,
      1 - beta1 ** steps,
      1 - beta2 ** steps,
    );
  }

  override backpropagate(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    inputGradient?: Float32Array,
  ): void {
    const { kernels, arena } = this.#work;
    const outputWidth = padded(this.#outputs);
    const inputWidth = padded(this.#inputs);
    const x = this.#work.staging(4 * (inputs.length + 3 + rows * (outputWidth + inputWidth)));
    const deltas = x + 4 * padded(inputs.length);
    const dx = deltas + 4 * rows * outputWidth;
    const work = this.#work.work(this.activations, this.widest);
    this.prepareGradient(0);
    const { f32 } = arena;
    f32.set(inputs, x >> 2);
    for (let row = 0; row < rows; row++)
      for (let o = 0; o < outputWidth; o++)
        f32[(deltas >> 2) + row * outputWidth + o] =
          o < this.#outputs ? outputGradient[row * this.#outputs + o]! : 0;
    kernels.gradients(
      this.at,
      x,
      rows,
      deltas,
      inputGradient ? dx : 0,
      work,
      this.activations,
      this.widest,
    );
    if (inputGradient) this.readInputGradient(dx, rows, inputGradient);
  }

  /** Says where this network's gradient is to go. */
  prepareGradient(which: 0 | 1): number {
    const gradients = this.#work.gradients(which, this.size);
    this.#work.arena.i32[(this.at >> 2) + FIELD.gradients] = gradients;
    return gradients;
  }

  /** A network that only decides has no moments: they are made with its first training step. */
  prepareMoments(): void {
    if (this.#first !== 0) return;
    const { arena } = this.#work;
    this.#first = arena.allocate(4 * this.size);
    this.#second = arena.allocate(4 * this.size);
    arena.i32[(this.at >> 2) + FIELD.first] = this.#first;
    arena.i32[(this.at >> 2) + FIELD.second] = this.#second;
  }

  /** Rows of padded width at an address, into an array without padding. */
  readInputGradient(from: number, rows: number, to: Float32Array): void {
    const { f32 } = this.#work.arena;
    const width = padded(this.#inputs);
    for (let row = 0; row < rows; row++)
      for (let i = 0; i < this.#inputs; i++)
        to[row * this.#inputs + i] = f32[(from >> 2) + row * width + i]!;
  }

  override readParameters(to: Float32Array): void {
    this.#unpad(this.#parameters, to);
  }

  override writeParameters(from: Float32Array): void {
    this.#pad(from, this.#parameters);
  }

  override readMoments(first: Float32Array, second: Float32Array): void {
    if (this.#first === 0) return;
    this.#unpad(this.#first, first);
    this.#unpad(this.#second, second);
  }

  override writeMoments(first: Float32Array, second: Float32Array): void {
    this.prepareMoments();
    this.#pad(first, this.#first);
    this.#pad(second, this.#second);
  }

  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    const { arena } = this.#work;
    arena.release(this.#parameters, 4 * this.size);
    arena.release(this.at, this.#descriptionBytes);
    if (this.#first === 0) return;
    arena.release(this.#first, 4 * this.size);
    arena.release(this.#second, 4 * this.size);
  }

  #pad(from: Float32Array, to: number): void {
    const { f32 } = this.#work.arena;
    let source = 0;
    let target = to >> 2;
    // The bias is one more row.
    for (const { inputs, outputs } of layersOf(this.shape))
      for (let row = 0; row <= inputs; row++) {
        for (let o = 0; o < outputs; o++) f32[target + o] = from[source++]!;
        target += padded(outputs);
      }
  }

  #unpad(from: number, to: Float32Array): void {
    const { f32 } = this.#work.arena;
    let source = from >> 2;
    let target = 0;
    for (const { inputs, outputs } of layersOf(this.shape))
      for (let row = 0; row <= inputs; row++) {
        for (let o = 0; o < outputs; o++) to[target++] = f32[source + o]!;
        source += padded(outputs);
      }
  }
}
