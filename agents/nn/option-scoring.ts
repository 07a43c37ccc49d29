import type { ActorCritic, Engine, PpoBatch, PpoStepResult, PpoStepSettings } from './engine.js';
import { ShapeError } from './errors.js';
import { policyGradient, valueGradientOf } from './js/loss.js';
import { type AdamSettings, type Moments, Network } from './network.js';
import { type NetworkShape, outputsOf } from './shape.js';

/** FaaSRM's network: eleven features of a function and one option in, one score out [FaaSRM]. */
export const scoreShape: NetworkShape = { widths: [11, 32, 16, 1], activation: 'tanh' };

/**
 * One small network that scores each option by itself, seen as a network with all options' features
 * in and their scores out. The options' order and number do not matter.
 */
class OptionNetwork extends Network {
  readonly inner: Network;
  readonly options: number;
  /** Per option a score, or one mean over all options. */
  readonly #mean: boolean;

  constructor(inner: Network, options: number, mean: boolean) {
    const { widths, activation } = inner.shape;
    super(
      {
        widths: [options * widths[0]!, ...widths.slice(1, -1), mean ? 1 : options],
        activation,
      },
      inner.parameterCount,
    );
    this.inner = inner;
    this.options = options;
    this.#mean = mean;
  }

  override scope(work: () => void): void {
    this.inner.scope(work);
  }

  override run(inputs: Float32Array, rows: number, outputs: Float32Array): void {
    const scores = this.#mean ? new Float32Array(rows * this.options) : outputs;
    this.inner.run(inputs, rows * this.options, scores);
    if (!this.#mean) return;
    for (let row = 0; row < rows; row++) {
      let sum = 0;
      for (let i = 0; i < this.options; i++) sum += scores[row * this.options + i]!;
      outputs[row] = sum / this.options;
    }
  }

  override backpropagate(
    inputs: Float32Array,
    rows: number,
    outputGradient: Float32Array,
    inputGradient?: Float32Array,
  ): void {
    const { options } = this;
    // dL/d mean is divided equally among the options.
    const scoreGradient = this.#mean
      ? Float32Array.from(
          { length: outputGradient.length * options },
          (_, i) => outputGradient[Math.floor(i / options)]! / options,
        )
      : outputGradient;
    this.inner.backpropagate(inputs, rows * options, scoreGradient, inputGradient);
  }

  override gradientSquares(): number {
    return this.inner.gradientSquares();
  }
  override readGradient(to: Float32Array): void {
    this.inner.readGradient(to);
  }
  override step(settings: AdamSettings, scale: number): void {
    this.inner.step(settings, scale);
    this.steps = this.inner.steps;
  }
  override readParameters(to: Float32Array): void {
    this.inner.readParameters(to);
  }
  override writeParameters(from: Float32Array): void {
    this.inner.writeParameters(from);
  }
  override readMoments(first: Float32Array, second: Float32Array): void {
    this.inner.readMoments(first, second);
  }
  override writeMoments(first: Float32Array, second: Float32Array): void {
    this.inner.writeMoments(first, second);
  }
  override importMoments(moments: Moments): void {
    super.importMoments(moments);
    this.inner.steps = moments.steps;
  }
  override dispose(): void {
    this.inner.dispose();
  }
}

/**
 * An option's logit is its score, the value is the critic's mean over options. Inputs are
 * [options][features]; the two gradients are clipped apart.
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
    this.actor.forwardBatch(batch.inputs, rows, logits);
    this.critic.forwardBatch(batch.inputs, rows, values);
    const logitGradient = new Float32Array(logits.length);
    const valueGradient = new Float32Array(rows);
    const policy = policyGradient(batch, logits, settings, logitGradient);
    const valueLoss = valueGradientOf(batch, values, settings, valueGradient);
    if (!Number.isFinite(policy.policyLoss + valueLoss))
      return { ...policy, valueLoss, norm: Number.NaN, applied: false };
    const actor = this.actor.train(batch.inputs, rows, logitGradient, settings);
    const critic = actor.applied
      ? this.critic.train(batch.inputs, rows, valueGradient, settings)
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
