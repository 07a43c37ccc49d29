import type { Random } from '../../../config/index.js';

/** One gated recurrent layer, one direction: `inputs` numbers a step in, `hidden` out. */
export interface GruShape {
  readonly inputs: number;
  readonly hidden: number;
}

/** W [inputs][3 hidden], U [hidden][3 hidden], b [3 hidden], c [hidden]; reset, update, new. */
export const gruParameters = ({ inputs, hidden }: GruShape): number =>
  (inputs + hidden + 1) * 3 * hidden + hidden;

/** Uniform in +-1 / sqrt(hidden). */
export function initialGru(shape: GruShape, random: Random): Float32Array {
  const bound = 1 / Math.sqrt(shape.hidden);
  return Float32Array.from({ length: gruParameters(shape) }, () => bound * (2 * random.next() - 1));
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/**
 * A gated recurrent unit (Cho et al. 2014, with the reset gate behind the recurrent product) over
 * batches of sequences of one length: r = s(W_r x + U_r h + b_r), z = s(W_z x + U_z h + b_z), n =
 * tanh(W_n x + b_n + r (U_n h + c)), h' = (1 - z) n + z h. Arrays are [step][sequence][number]: it
 * scans time, where [AWARE artifact] scans the batch. Activations are doubles.
 */
export class GruLayer {
  readonly shape: GruShape;
  readonly parameters: Float32Array;
  readonly backwards: boolean;
  /** Steps of the last `forward`, for its gradients. */
  steps = 0;
  rows = 0;
  x: Float64Array = new Float64Array(0);
  /** [step][sequence][hidden], by the step of the input. */
  output: Float64Array = new Float64Array(0);
  gates: Float64Array = new Float64Array(0);
  /** U_n h + c. */
  recurrent: Float64Array = new Float64Array(0);

  /** `parameters` may be a part of a larger array; it is read at each pass. */
  constructor(shape: GruShape, parameters: Float32Array, backwards: boolean) {
    this.shape = shape;
    this.parameters = parameters;
    this.backwards = backwards;
  }

  forward(x: Float64Array, steps: number, rows: number): Float64Array {
    const { inputs, hidden } = this.shape;
    const p = this.parameters;
    const wide = 3 * hidden;
    const u = inputs * wide;
    const b = u + hidden * wide;
    const c = b + wide;
    if (this.steps * this.rows !== steps * rows) {
      this.output = new Float64Array(steps * rows * hidden);
      this.gates = new Float64Array(steps * rows * wide);
      this.recurrent = new Float64Array(steps * rows * hidden);
    }
    this.steps = steps;
    this.rows = rows;
    this.x = x;
    const h = this.output;
    const gates = this.gates;
    const recurrent = this.recurrent;
    const sums = new Float64Array(wide);
    const products = new Float64Array(wide);
    for (let k = 0; k < steps; k++) {
      const t = this.backwards ? steps - 1 - k : k;
      const before = this.backwards ? t + 1 : t - 1;
      for (let row = 0; row < rows; row++) {
        const at = t * rows + row;
        for (let o = 0; o < wide; o++) sums[o] = p[b + o]!;
        for (let i = 0, w = 0; i < inputs; i++, w += wide) {
          const value = x[at * inputs + i]!;
          if (value !== 0) for (let o = 0; o < wide; o++) sums[o]! += value * p[w + o]!;
        }
        products.fill(0);
        const from = (before * rows + row) * hidden;
        if (k > 0)
          for (let i = 0, w = u; i < hidden; i++, w += wide) {
            const value = h[from + i]!;
            for (let o = 0; o < wide; o++) products[o]! += value * p[w + o]!;
          }
        for (let o = 0; o < hidden; o++) {
          const r = sigmoid(sums[o]! + products[o]!);
          const z = sigmoid(sums[hidden + o]! + products[hidden + o]!);
          const q = products[2 * hidden + o]! + p[c + o]!;
          const n = Math.tanh(sums[2 * hidden + o]! + r * q);
          gates[at * wide + o] = r;
          gates[at * wide + hidden + o] = z;
          gates[at * wide + 2 * hidden + o] = n;
          recurrent[at * hidden + o] = q;
          h[at * hidden + o] = (1 - z) * n + z * (k > 0 ? h[from + o]! : 0);
        }
      }
    }
    return h;
  }
}
