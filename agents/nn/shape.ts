import { type Random, standardNormal } from '../../config/index.js';
import { ShapeError } from './errors.js';

type Activation = 'tanh' | 'relu';

/** A multilayer perceptron: hidden layers are activated, the last is linear. */
export interface NetworkShape {
  readonly widths: readonly number[];
  readonly activation: Activation;
}

/** Widest layer; the kernels in simd/assembly/network.ts have room for it. */
const WIDEST = 1024;

export function checkShape(shape: NetworkShape): void {
  const wrong = shape.widths.find(
    (width) => !(Number.isInteger(width) && width >= 1 && width <= WIDEST),
  );
  if (shape.widths.length < 2 || wrong !== undefined)
    throw new ShapeError(
      `widths [${shape.widths.join(', ')}] are not two or more whole numbers from 1 to ${WIDEST}`,
    );
  if (shape.activation !== 'tanh' && shape.activation !== 'relu')
    throw new ShapeError(`activation '${String(shape.activation)}' is neither tanh nor relu`);
}

export const inputsOf = (shape: NetworkShape): number => shape.widths[0]!;
export const outputsOf = (shape: NetworkShape): number => shape.widths.at(-1)!;

export const sameShape = (a: NetworkShape, b: NetworkShape): boolean =>
  a.activation === b.activation &&
  a.widths.length === b.widths.length &&
  a.widths.every((width, i) => width === b.widths[i]);

/** Offsets in the flat array: kernel [inputs][outputs] row-major, then bias, as TensorFlow's. */
export interface Layer {
  readonly inputs: number;
  readonly outputs: number;
  readonly kernel: number;
  readonly bias: number;
}

export function layersOf(shape: NetworkShape): Layer[] {
  let at = 0;
  return shape.widths.slice(1).map((outputs, i) => {
    const inputs = shape.widths[i]!;
    const layer = { inputs, outputs, kernel: at, bias: at + inputs * outputs };
    at += (inputs + 1) * outputs;
    return layer;
  });
}

/** Floats of all kernels and biases: 929 for 11-32-16-1. */
export const parameterCount = (shape: NetworkShape): number =>
  layersOf(shape).reduce((sum, { inputs, outputs }) => sum + (inputs + 1) * outputs, 0);

export function expectLength(
  what: string,
  data: { readonly length: number },
  length: number,
): void {
  if (data.length !== length)
    throw new ShapeError(`${what}: ${data.length} numbers where ${length} belong`);
}

/** Throws `GLN_NN_SHAPE` unless inputs, outputs and gradients fit the rows. */
export function checkRows(
  shape: NetworkShape,
  inputs: Float32Array,
  rows: number,
  outputs: Float32Array,
  inputGradient?: Float32Array,
): void {
  if (!Number.isInteger(rows) || rows < 1) throw new ShapeError(`${rows} rows`);
  expectLength('inputs', inputs, rows * inputsOf(shape));
  expectLength('outputs', outputs, rows * outputsOf(shape));
  if (inputGradient) expectLength('dL/d inputs', inputGradient, rows * inputsOf(shape));
}

/** As in [CleanRL]: gain sqrt 2 in hidden layers, `outputGain` in the last. */
export function orthogonal(shape: NetworkShape, outputGain: number, random: Random): Float32Array {
  checkShape(shape);
  const parameters = new Float32Array(parameterCount(shape));
  const layers = layersOf(shape);
  layers.forEach(({ inputs, outputs, kernel }, index) => {
    const gain = index === layers.length - 1 ? outputGain : Math.SQRT2;
    const wide = outputs > inputs;
    const vectors = orthonormal(wide ? inputs : outputs, wide ? outputs : inputs, random);
    for (let i = 0; i < inputs; i++)
      for (let o = 0; o < outputs; o++)
        parameters[kernel + i * outputs + o] = gain * (wide ? vectors[i]![o]! : vectors[o]![i]!);
  });
  return parameters;
}

/** Gram-Schmidt on normal draws, twice over for accuracy; `count` <= `length`. */
function orthonormal(count: number, length: number, random: Random): Float64Array[] {
  const vectors: Float64Array[] = [];
  while (vectors.length < count) {
    const vector = Float64Array.from({ length }, () => standardNormal(random));
    for (let pass = 0; pass < 2; pass++)
      for (const other of vectors) {
        const along = dot(vector, other);
        for (let i = 0; i < length; i++) vector[i]! -= along * other[i]!;
      }
    const size = Math.sqrt(dot(vector, vector));
    if (size < 1e-6) continue;
    vectors.push(vector.map((value) => value / size));
  }
  return vectors;
}

const dot = (a: Float64Array, b: Float64Array): number =>
  a.reduce((sum, value, i) => sum + value * b[i]!, 0);
