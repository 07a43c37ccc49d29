import type { Random } from '../../../config/index.js';
import { JsNetwork, orthogonal, sumOfSquares } from '../../nn/index.js';
import { GruLayer, gruParameters, initialGru } from './gru.js';
import { type Trajectory, trajectorySteps } from './trajectory.js';

export interface EncoderShape {
  /** Numbers of one step: features, actions, reward. */
  readonly width: number;
  readonly hidden: number;
  readonly embedding: number;
}

/** Length of every embedding: only its direction counts, and components near .5 suit the actor. */
export const EMBEDDING_LENGTH = 4;

type Layers = readonly [GruLayer, GruLayer, GruLayer, GruLayer];

/** One bundle's embedding before it is scaled to the fixed length. */
export interface RawEmbedding {
  readonly raw: Float32Array;
  readonly norm: number;
}

/**
 * The meta-learner [AWARE]: a bundle of trajectories through two bidirectional GRU layers; the last
 * states, averaged over the bundle, through two dense layers to an embedding of fixed length.
 */
export class Encoder {
  readonly shape: EncoderShape;
  /** First layer forwards, backwards, then the second. */
  readonly recurrent: Float32Array;
  readonly head: JsNetwork;
  readonly layers: Layers;
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
    this.layers = layers as unknown as Layers;
    this.head = new JsNetwork({ widths: [4 * hidden, embedding, embedding], activation: 'relu' });
  }

  static initial(shape: EncoderShape, random: Random): Encoder {
    const encoder = new Encoder(shape);
    let at = 0;
    for (const layer of encoder.layers) {
      encoder.recurrent.set(initialGru(layer.shape, random.fork(`recurrent ${at}`)), at);
      at += gruParameters(layer.shape);
    }
    encoder.head.import(orthogonal(encoder.head.shape, 1, random.fork('head')));
    return encoder;
  }

  /** Last hidden states [4 hidden] of each trajectory; all of one length. */
  states(trajectories: readonly Trajectory[]): Float64Array {
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
    const [f1, b1, f2, b2] = this.layers;
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

  heads(means: Float32Array, bundles: number): RawEmbedding[] {
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
        states = this.states([trajectory]);
        this.#known.set(trajectory, states);
      }
      for (let i = 0; i < mean.length; i++) mean[i]! += states[i]! / bundle.length;
    }
    return scaled(this.heads(mean, 1)[0]!);
  }

  /** The weights have changed. */
  forget(): void {
    this.#known = new WeakMap();
  }
}

/** To the fixed length. */
export const scaled = ({ raw, norm }: RawEmbedding): Float32Array =>
  raw.map((value) => (EMBEDDING_LENGTH * value) / norm);
