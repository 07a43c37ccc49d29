import type { Random } from '../../config/index.js';
import { checkRows } from './batch.js';
import type {
  ActorCritic,
  AdamSettings,
  Engine,
  Moments,
  Network,
  PpoBatch,
  PpoStepResult,
  PpoStepSettings,
  StepResult,
} from './engine.js';
import { ShapeError } from './errors.js';
import { policyGradient, valueGradientOf } from './js/loss.js';
import { inputsOf, type NetworkShape, orthogonal, outputsOf } from './shape.js';

/** FaaSRM's network: eleven features of a function and one option in, one score out [FaaSRM]. */
export const scoreShape: NetworkShape = { widths: [11, 32, 16, 1], activation: 'tanh' };

/**
 * One small network that looks at each option by itself, seen from outside as a network with all
 * options' features in and one score per option out. The same weights score every option, so their
 * order and their number do not matter.
 */
class OptionNetwork implements Network {
  readonly shape: NetworkShape;
  readonly inner: Network;
  readonly options: number;
  /** Per option a score, or one mean over all options. */
  readonly #mean: boolean;
  readonly #scores: Float32Array;

  constructor(inner: Network, options: number, mean: boolean) {
    this.inner = inner;
    this.options = options;
    this.#mean = mean;
    this.#scores = new Float32Array(options);
    const { widths, activation } = inner.shape;
    this.shape = {
      widths: [options * widths[0]!, ...widths.slice(1, -1), mean ? 1 : options],
      activation,
    };
  }

  forward(input: Float32Array, output: Float32Array): void {
    checkRows(this.shape, input, 1, output);
    this.inner.forwardBatch(input, this.options, this.#mean ? this.#scores : output);
    if (this.#mean) output[0] = this.#scores.reduce((sum, score) => sum + score, 0) / this.options;
  }

  forwardBatch(inputs: Float32Array, rows: number, outputs: Float32Array): void {
    checkRows(this.shape, inputs, rows, outputs);
    const scores = this.#mean ? new Float32Array(rows * this.options) : outputs;
    this.inner.forwardBatch(inputs, rows * this.options, scores);
    if (!this.#mean) return;
    for (let row = 0; row < rows; row++) {
      let sum = 0;
      for (let i = 0; i < this.options; i++) sum += scores[row * this.options + i]!;
      outputs[row] = sum / this.options;
    }
  }

  gradients(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    parameterGradient: Float32Array,
    inputGradient?: Float32Array,
  ): void {
    checkRows(this.shape, inputs, rows, outputGradient, inputGradient);
    this.inner.gradients(
      inputs,
      rows * this.options,
      this.#spread(outputGradient),
      parameterGradient,
      inputGradient,
    );
  }

  train(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    settings: AdamSettings,
    inputGradient?: Float32Array,
  ): StepResult {
    checkRows(this.shape, inputs, rows, outputGradient, inputGradient);
    return this.inner.train(
      inputs,
      rows * this.options,
      this.#spread(outputGradient),
      settings,
      inputGradient,
    );
  }

  /** dL/d mean is shared by what the mean is of. */
  #spread(outputGradient: Float32Array): Float32Array {
    if (!this.#mean) return outputGradient;
    const { options } = this;
    return Float32Array.from(
      { length: outputGradient.length * options },
      (_, i) => outputGradient[Math.floor(i / options)]! / options,
    );
  }

  export(): Float32Array {
    return this.inner.export();
  }
  import(parameters: Float32Array): void {
    this.inner.import(parameters);
  }
  exportMoments(): Moments {
    return this.inner.exportMoments();
  }
  importMoments(moments: Moments): void {
    this.inner.importMoments(moments);
  }
  dispose(): void {
    this.inner.dispose();
  }
}

/**
 * Actor and critic of an option-scoring policy, for PPO as any other pair: an option's logit is its
 * score, the value is the critic's mean over options. Inputs are [options][features]; options that
 * are not allowed are masked. The two gradients are clipped apart.
 */
export class OptionActorCritic implements ActorCritic {
  readonly actor: Network;
  readonly critic: Network;

  constructor(engine: Engine, shape: NetworkShape, options: number) {
    if (outputsOf(shape) !== 1)
      throw new ShapeError(`a score of ${outputsOf(shape)} numbers; it is one`);
    if (!Number.isInteger(options) || options < 1) throw new ShapeError(`${options} options`);
    this.actor = new OptionNetwork(engine.network(shape), options, false);
    this.critic = new OptionNetwork(engine.network(shape), options, true);
  }

  ppoStep(batch: PpoBatch, settings: PpoStepSettings): PpoStepResult {
    const { rows } = batch;
    const logits = new Float32Array(batch.masks.length);
    const values = new Float32Array(rows);
    this.actor.forwardBatch(batch.actorInputs, rows, logits);
    this.critic.forwardBatch(batch.criticInputs, rows, values);
    const logitGradient = new Float32Array(logits.length);
    const valueGradient = new Float32Array(rows);
    const policy = policyGradient(batch, logits, settings, logitGradient);
    const valueLoss = valueGradientOf(batch, values, settings, valueGradient);
    if (!Number.isFinite(policy.policyLoss + valueLoss))
      return { ...policy, valueLoss, norm: Number.NaN, applied: false };
    const actor = this.actor.train(batch.actorInputs, rows, logitGradient, settings);
    const critic = actor.applied
      ? this.critic.train(batch.criticInputs, rows, valueGradient, settings)
      : { norm: Number.NaN, applied: false };
    return {
      ...policy,
      valueLoss,
      norm: Math.hypot(actor.norm, critic.norm),
      applied: actor.applied && critic.applied,
    };
  }

  dispose(): void {
    this.actor.dispose();
    this.critic.dispose();
  }
}

/** New weights: scores nearly equal, so that the policy starts nearly uniform. */
export function newOptionScorer(
  engine: Engine,
  options: number,
  random: Random,
  shape = scoreShape,
): OptionActorCritic {
  const pair = new OptionActorCritic(engine, shape, options);
  pair.actor.import(orthogonal(shape, 0.01, random.fork('actor')));
  pair.critic.import(orthogonal(shape, 1, random.fork('critic')));
  return pair;
}

/** Numbers that one decision of such a pair looks at. */
export const optionFeatures = (options: number, shape = scoreShape): number =>
  options * inputsOf(shape);
