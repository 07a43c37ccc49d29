import type { Random } from '../../../config/index.js';
import {
  adamDefaults,
  adamStep,
  clipScale,
  JsNetwork,
  orthogonal,
  sumOfSquares,
} from '../../nn/index.js';
import { GruLayer, gruParameters, initialGru } from './gru.js';
import { type Trajectory, trajectorySteps } from './trajectory.js';

export interface EncoderShape {
  /** Numbers of one step: features, actions, reward. */
  readonly width: number;
  readonly hidden: number;
  readonly embedding: number;
}

/** Length of every embedding: only its direction counts, and components near .5 suit the actor. */
const EMBEDDING_LENGTH = 4;

type Layers = readonly [GruLayer, GruLayer, GruLayer, GruLayer];

/** What the gradients of one bundle need. */
interface Pass {
  readonly raw: Float32Array;
  readonly norm: number;
}

/**
 * The meta-learner [AWARE]: a bundle of trajectories through a bidirectional gated recurrent
 * network of two layers; the last hidden states, averaged over the bundle, through two dense layers
 * to an embedding of fixed length.
 */
export class Encoder {
  readonly shape: EncoderShape;
  /**
   * Of the recurrent layers: first forwards, first backwards, second forwards, second backwards.
   */
  readonly recurrent: Float32Array;
  readonly head: JsNetwork;
  readonly #layers: Layers;
  readonly #gradient: Float64Array;
  readonly #first: Float32Array;
  readonly #second: Float32Array;
  #steps = 0;
  /** Last hidden states of trajectories, until the weights change: bundles change slowly. */
  #known = new WeakMap<Trajectory, Float64Array>();

  constructor(shape: EncoderShape) {
    this.shape = shape;
    const { width, hidden, embedding } = shape;
    const lower = { inputs: width, hidden };
    const upper = { inputs: 2 * hidden, hidden };
    const sizes = [lower, lower, upper, upper];
    const lengths = sizes.map(gruParameters);
    this.recurrent = new Float32Array(lengths.reduce((sum, one) => sum + one, 0));
    let at = 0;
    const layers = sizes.map((size, i) => {
      const part = this.recurrent.subarray(at, at + lengths[i]!);
      at += lengths[i]!;
      return new GruLayer(size, part, i % 2 === 1);
    });
    this.#layers = layers as unknown as Layers;
    this.head = new JsNetwork({ widths: [4 * hidden, embedding, embedding], activation: 'relu' });
    this.#gradient = new Float64Array(this.recurrent.length);
    this.#first = new Float32Array(this.recurrent.length);
    this.#second = new Float32Array(this.recurrent.length);
  }

  static initial(shape: EncoderShape, random: Random): Encoder {
    const encoder = new Encoder(shape);
    let at = 0;
    for (const layer of encoder.#layers) {
      encoder.recurrent.set(initialGru(layer.shape, random.fork(`recurrent ${at}`)), at);
      at += gruParameters(layer.shape);
    }
    encoder.head.import(orthogonal(encoder.head.shape, 1, random.fork('head')));
    return encoder;
  }

  /** Last hidden states [4 hidden] of each trajectory; all of one length. */
  #states(trajectories: readonly Trajectory[]): Float64Array {
    const { width, hidden } = this.shape;
    const rows = trajectories.length;
    const steps = trajectorySteps(trajectories[0]!);
    const x = new Float64Array(steps * rows * width);
    trajectories.forEach((trajectory, row) => {
      if (trajectory.width !== width || trajectorySteps(trajectory) !== steps)
        throw new RangeError(
          `a trajectory of ${trajectory.rows.length} numbers among those of ${steps} x ${width}`,
        );
      for (let t = 0; t < steps; t++)
        x.set(trajectory.rows.subarray(t * width, (t + 1) * width), (t * rows + row) * width);
    });
    const [f1, b1, f2, b2] = this.#layers;
    const forwards = f1.forward(x, steps, rows);
    const backwards = b1.forward(x, steps, rows);
    const both = new Float64Array(steps * rows * 2 * hidden);
    for (let at = 0; at < steps * rows; at++) {
      both.set(forwards.subarray(at * hidden, (at + 1) * hidden), 2 * at * hidden);
      both.set(backwards.subarray(at * hidden, (at + 1) * hidden), (2 * at + 1) * hidden);
    }
    const over = [
      forwards,
      backwards,
      f2.forward(both, steps, rows),
      b2.forward(both, steps, rows),
    ];
    const states = new Float64Array(rows * 4 * hidden);
    for (let row = 0; row < rows; row++)
      over.forEach((output, i) => {
        // Forwards ends with the last step, backwards with the first.
        const at = ((i % 2 === 0 ? steps - 1 : 0) * rows + row) * hidden;
        states.set(output.subarray(at, at + hidden), (row * 4 + i) * hidden);
      });
    return states;
  }

  #heads(means: Float32Array, bundles: number): Pass[] {
    const { embedding } = this.shape;
    const raw = new Float32Array(bundles * embedding);
    this.head.forwardBatch(means, bundles, raw);
    return Array.from({ length: bundles }, (_, i) => {
      const one = raw.subarray(i * embedding, (i + 1) * embedding);
      return { raw: one, norm: Math.max(1e-6, Math.sqrt(sumOfSquares(one))) };
    });
  }

  /** The embedding of one bundle; of no trajectories zeros. Trajectories may differ in length. */
  embed(bundle: readonly Trajectory[]): Float32Array {
    const { hidden, embedding } = this.shape;
    if (bundle.length === 0) return new Float32Array(embedding);
    const mean = new Float32Array(4 * hidden);
    for (const trajectory of bundle) {
      let states = this.#known.get(trajectory);
      if (states === undefined) {
        states = this.#states([trajectory]);
        this.#known.set(trajectory, states);
      }
      for (let i = 0; i < mean.length; i++) mean[i]! += states[i]! / bundle.length;
    }
    return scaled(this.#heads(mean, 1)[0]!);
  }

  /**
   * Embeddings of bundles of equal size and length at once, and what takes dL/d embeddings back to
   * one step of Adam.
   */
  pass(bundles: readonly (readonly Trajectory[])[]): {
    readonly embeddings: readonly Float32Array[];
    learn(gradients: readonly Float32Array[], learningRate: number): number;
    /** For tests: dL/d parameters of the recurrent layers. */
    gradient(gradients: readonly Float32Array[]): Float64Array;
  } {
    const { hidden, embedding } = this.shape;
    const size = bundles[0]!.length;
    const states = this.#states(bundles.flat());
    const means = new Float32Array(bundles.length * 4 * hidden);
    for (let i = 0; i < states.length; i++)
      means[Math.floor(i / (size * 4 * hidden)) * 4 * hidden + (i % (4 * hidden))]! +=
        states[i]! / size;
    const passes = this.#heads(means, bundles.length);
    const back = (gradients: readonly Float32Array[], learningRate: number | null): void => {
      const outer = new Float32Array(bundles.length * embedding);
      passes.forEach((one, i) => {
        outer.set(unscaled(one, gradients[i]!), i * embedding);
      });
      const inner = new Float32Array(means.length);
      const { length } = this.head.parameters;
      if (learningRate === null)
        this.head.gradients(means, bundles.length, outer, new Float32Array(length), inner);
      else this.head.train(means, bundles.length, outer, { ...adamDefaults, learningRate }, inner);
      this.#backward(inner, size, bundles.length * size);
    };
    return {
      embeddings: passes.map(scaled),
      learn: (gradients, learningRate) => {
        back(gradients, learningRate);
        const gradient = Float32Array.from(this.#gradient);
        const norm = Math.sqrt(sumOfSquares(gradient));
        if (!Number.isFinite(norm)) return norm;
        const settings = { ...adamDefaults, learningRate };
        const scale = clipScale(norm, settings.maxGradNorm);
        this.#known = new WeakMap();
        adamStep(
          this.recurrent,
          gradient,
          this.#first,
          this.#second,
          ++this.#steps,
          settings,
          scale,
        );
        return norm;
      },
      gradient: (gradients) => {
        back(gradients, null);
        return this.#gradient.slice();
      },
    };
  }

  #backward(inner: Float32Array, size: number, rows: number): void {
    const { hidden } = this.shape;
    const [f1, b1, f2, b2] = this.#layers;
    const steps = f1.output.length / (rows * hidden);
    const outputs = [f1, b1, f2, b2].map(() => new Float64Array(steps * rows * hidden));
    for (let row = 0; row < rows; row++)
      outputs.forEach((output, i) => {
        const at = ((i % 2 === 0 ? steps - 1 : 0) * rows + row) * hidden;
        const from = Math.floor(row / size) * 4 * hidden + i * hidden;
        for (let o = 0; o < hidden; o++) output[at + o] = inner[from + o]! / size;
      });
    this.#gradient.fill(0);
    let at = 0;
    const parts = this.#layers.map(({ shape }) => {
      const part = this.#gradient.subarray(at, at + gruParameters(shape));
      at += gruParameters(shape);
      return part;
    });
    const both = new Float64Array(steps * rows * 2 * hidden);
    f2.backward(outputs[2]!, parts[2]!, both);
    b2.backward(outputs[3]!, parts[3]!, both);
    for (let i = 0; i < steps * rows; i++)
      for (let o = 0; o < hidden; o++) {
        outputs[0]![i * hidden + o]! += both[2 * i * hidden + o]!;
        outputs[1]![i * hidden + o]! += both[(2 * i + 1) * hidden + o]!;
      }
    f1.backward(outputs[0]!, parts[0]!, null);
    b1.backward(outputs[1]!, parts[1]!, null);
  }
}

/** To the fixed length. */
const scaled = ({ raw, norm }: Pass): Float32Array =>
  raw.map((value) => (EMBEDDING_LENGTH * value) / norm);

/** dL/d raw from dL/d scaled: what is along the embedding changes nothing. */
function unscaled({ raw, norm }: Pass, gradient: Float32Array): Float32Array {
  let along = 0;
  for (let i = 0; i < raw.length; i++) along += (raw[i]! / norm) * gradient[i]!;
  return raw.map((value, i) => (EMBEDDING_LENGTH / norm) * (gradient[i]! - (value / norm) * along));
}
