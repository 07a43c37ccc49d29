import {
  cosine,
  EMBEDDING_LENGTH,
  type Encoder,
  type GruLayer,
  gruParameters,
  type RawEmbedding,
  scaled,
  type Trajectory,
} from '../../agents/aware/index.js';
import { adamDefaults, adamStep, clipScale, sumOfSquares } from '../../agents/nn/index.js';

/** Gradients of the meta-learner, which the product only runs: `gleaner train-meta` trains it. */
export class EncoderTrainer {
  readonly #encoder: Encoder;
  readonly #gradient: Float64Array;
  readonly #first: Float32Array;
  readonly #second: Float32Array;
  #steps = 0;

  constructor(encoder: Encoder) {
    const { length } = encoder.recurrent;
    this.#encoder = encoder;
    this.#gradient = new Float64Array(length);
    this.#first = new Float32Array(length);
    this.#second = new Float32Array(length);
  }

  /** Embeddings of bundles of one size and length, and one step of Adam from dL/d embeddings. */
  pass(bundles: readonly (readonly Trajectory[])[]): {
    readonly embeddings: readonly Float32Array[];
    learn(gradients: readonly Float32Array[], learningRate: number): number;
    /** For tests: dL/d parameters of the recurrent layers. */
    gradient(gradients: readonly Float32Array[]): Float64Array;
  } {
    const { hidden, embedding } = this.#encoder.shape;
    const size = bundles[0]!.length;
    const states = this.#encoder.states(bundles.flat());
    const means = new Float32Array(bundles.length * 4 * hidden);
    for (let i = 0; i < states.length; i++)
      means[Math.floor(i / (size * 4 * hidden)) * 4 * hidden + (i % (4 * hidden))]! +=
        states[i]! / size;
    const passes = this.#encoder.heads(means, bundles.length);
    const back = (gradients: readonly Float32Array[], learningRate: number | null): void => {
      const outer = new Float32Array(bundles.length * embedding);
      passes.forEach((one, i) => {
        outer.set(unscaled(one, gradients[i]!), i * embedding);
      });
      const inner = new Float32Array(means.length);
      const { length } = this.#encoder.head.parameters;
      if (learningRate === null)
        this.#encoder.head.gradients(means, bundles.length, outer, new Float32Array(length), inner);
      else
        this.#encoder.head.train(
          means,
          bundles.length,
          outer,
          { ...adamDefaults, learningRate },
          inner,
        );
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
        this.#encoder.forget();
        adamStep(
          this.#encoder.recurrent,
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
    const { hidden } = this.#encoder.shape;
    const [f1, b1, f2, b2] = this.#encoder.layers;
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
    const parts = this.#encoder.layers.map(({ shape }) => {
      const part = this.#gradient.subarray(at, at + gruParameters(shape));
      at += gruParameters(shape);
      return part;
    });
    const both = new Float64Array(steps * rows * 2 * hidden);
    gruGradients(f2, outputs[2]!, parts[2]!, both);
    gruGradients(b2, outputs[3]!, parts[3]!, both);
    for (let i = 0; i < steps * rows; i++)
      for (let o = 0; o < hidden; o++) {
        outputs[0]![i * hidden + o]! += both[2 * i * hidden + o]!;
        outputs[1]![i * hidden + o]! += both[(2 * i + 1) * hidden + o]!;
      }
    gruGradients(f1, outputs[0]!, parts[0]!, null);
    gruGradients(b1, outputs[1]!, parts[1]!, null);
  }
}

/** dL/d raw from dL/d scaled: what is along the embedding changes nothing. */
function unscaled({ raw, norm }: RawEmbedding, gradient: Float32Array): Float32Array {
  let along = 0;
  for (let i = 0; i < raw.length; i++) along += (raw[i]! / norm) * gradient[i]!;
  return raw.map((value, i) => (EMBEDDING_LENGTH / norm) * (gradient[i]! - (value / norm) * along));
}

/**
 * From dL/d outputs of the layer's last `forward`: adds dL/d parameters to `gradient`, and dL/d x
 * to `inputGradient` if it is given.
 */
export function gruGradients(
  layer: GruLayer,
  outputGradient: Float64Array,
  gradient: Float64Array,
  inputGradient: Float64Array | null,
): void {
  const { inputs, hidden } = layer.shape;
  const p = layer.parameters;
  const wide = 3 * hidden;
  const u = inputs * wide;
  const b = u + hidden * wide;
  const c = b + wide;
  const steps = layer.steps;
  const rows = layer.rows;
  const h = layer.output;
  const x = layer.x;
  // dL/d h of the step before, as the steps behind it want it.
  const carried = new Float64Array(rows * hidden);
  /** dL/d sums of the gates, and the same for what is multiplied by U. */
  const ds = new Float64Array(wide);
  const du = new Float64Array(wide);
  for (let k = steps - 1; k >= 0; k--) {
    const t = layer.backwards ? steps - 1 - k : k;
    const before = layer.backwards ? t + 1 : t - 1;
    for (let row = 0; row < rows; row++) {
      const at = t * rows + row;
      const from = (before * rows + row) * hidden;
      for (let o = 0; o < hidden; o++) {
        const d = outputGradient[at * hidden + o]! + carried[row * hidden + o]!;
        const r = layer.gates[at * wide + o]!;
        const z = layer.gates[at * wide + hidden + o]!;
        const n = layer.gates[at * wide + 2 * hidden + o]!;
        const last = k > 0 ? h[from + o]! : 0;
        const dn = d * (1 - z) * (1 - n * n);
        ds[2 * hidden + o] = dn;
        ds[o] = dn * layer.recurrent[at * hidden + o]! * r * (1 - r);
        ds[hidden + o] = d * (last - n) * z * (1 - z);
        du[o] = ds[o]!;
        du[hidden + o] = ds[hidden + o]!;
        du[2 * hidden + o] = dn * r;
        gradient[c + o]! += dn * r;
        carried[row * hidden + o] = d * z;
      }
      for (let o = 0; o < wide; o++) gradient[b + o]! += ds[o]!;
      for (let i = 0, w = 0; i < inputs; i++, w += wide) {
        const value = x[at * inputs + i]!;
        if (value !== 0) for (let o = 0; o < wide; o++) gradient[w + o]! += value * ds[o]!;
        if (inputGradient === null) continue;
        let sum = 0;
        for (let o = 0; o < wide; o++) sum += p[w + o]! * ds[o]!;
        inputGradient[at * inputs + i]! += sum;
      }
      if (k === 0) continue;
      for (let i = 0, w = u; i < hidden; i++, w += wide) {
        const value = h[from + i]!;
        let sum = 0;
        for (let o = 0; o < wide; o++) {
          gradient[w + o]! += value * du[o]!;
          sum += p[w + o]! * du[o]!;
        }
        carried[row * hidden + i]! += sum;
      }
    }
  }
}

/**
 * Pulls embeddings of the same workload together and pushes those of others apart: the normalized
 * temperature-scaled cross-entropy (Chen et al. 2020) over pairs. Embedding 2 i and 2 i + 1 are of
 * the same workload. Returns the loss and writes dL/d embeddings (as if of length 1, times
 * `weight`).
 */
export function contrastive(
  embeddings: readonly Float32Array[],
  temperature: number,
  weight: number,
  gradients: readonly Float32Array[],
): number {
  const n = embeddings.length;
  const length = Math.sqrt(embeddings[0]!.reduce((sum, one) => sum + one * one, 0)) || 1;
  const unit = embeddings.map((one) => one.map((value) => value / length));
  let loss = 0;
  for (let i = 0; i < n; i++) {
    const partner = i ^ 1;
    const logits = unit.map((other, j) =>
      j === i ? Number.NEGATIVE_INFINITY : cosine(unit[i]!, other) / temperature,
    );
    const most = Math.max(...logits);
    const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
    loss += (most + Math.log(sum) - logits[partner]!) / n;
    for (let j = 0; j < n; j++) {
      if (j === i) continue;
      const share = Math.exp(logits[j]! - most) / sum - (j === partner ? 1 : 0);
      const factor = (weight * share) / (temperature * n * length);
      for (let k = 0; k < unit[i]!.length; k++) {
        gradients[i]![k]! += factor * unit[j]![k]!;
        gradients[j]![k]! += factor * unit[i]![k]!;
      }
    }
  }
  return loss;
}
