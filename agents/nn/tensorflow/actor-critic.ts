import type { Scalar, Tensor, Tensor1D, Tensor2D } from '@tensorflow/tfjs';
import { checkActorCritic, checkBatch } from '../batch.js';
import {
  type ActorCritic,
  type PpoBatch,
  type PpoStepResult,
  type PpoStepSettings,
  WIDEST_LOG_RATIO,
} from '../engine.js';
import { clipScale } from '../network.js';
import { inputsOf, type NetworkShape, outputsOf } from '../shape.js';
import type { TensorFlow } from './load.js';
import { TensorFlowNetwork } from './network.js';

/** Added to masked logits: -Infinity would become NaN. */
const MASKED = -1e30;

/** TensorFlow.js finds the gradient: the oracle of the engines whose gradients are by hand. */
export class TensorFlowActorCritic implements ActorCritic {
  readonly actor: TensorFlowNetwork;
  readonly critic: TensorFlowNetwork;
  readonly #tf: TensorFlow;

  constructor(actor: NetworkShape, critic: NetworkShape, tf: TensorFlow) {
    checkActorCritic(actor, critic);
    this.#tf = tf;
    this.actor = new TensorFlowNetwork(actor, tf);
    this.critic = new TensorFlowNetwork(critic, tf);
  }

  ppoStep(batch: PpoBatch, settings: PpoStepSettings): PpoStepResult {
    const { actor, critic } = this;
    checkBatch(batch, actor.shape);
    const tf = this.#tf;
    return tf.tidy(() => {
      const inputs = tf.tensor2d(batch.inputs, [batch.rows, inputsOf(actor.shape)]);
      const data = this.#data(batch);
      let parts: readonly Scalar[] = [];
      const count = actor.variables.length;
      const objective = (...variables: Tensor[]): Scalar => {
        const logits = actor.apply(inputs, variables.slice(0, count));
        const values = critic.apply(inputs, variables.slice(count)).flatten() as Tensor1D;
        const [loss, ...means] = this.#loss(logits, values, data, settings);
        // `valueAndGrads` disposes of everything but the loss.
        parts = means.map((mean) => tf.keep(mean));
        return loss!;
      };
      const variables = [...actor.variables, ...critic.variables];
      const { value, grads } = tf.valueAndGrads(objective)(variables);
      const actorGradient = actor.flat(grads.slice(0, count));
      const criticGradient = critic.flat(grads.slice(count));
      const squares = actorGradient.square().sum().add(criticGradient.square().sum());
      const answers = tf.stack([...parts, squares, value]).dataSync();
      for (const part of parts) part.dispose();
      const norm = Math.sqrt(answers[5]!);
      const applied = Number.isFinite(norm) && Number.isFinite(answers[6]!);
      if (applied) {
        const scale = clipScale(norm, settings.maxGradNorm);
        actor.stepOn(actorGradient, settings, scale);
        critic.stepOn(criticGradient, settings, scale);
      }
      return {
        policyLoss: answers[0]!,
        valueLoss: answers[1]!,
        entropy: answers[2]!,
        approxKl: answers[3]!,
        clipFraction: answers[4]!,
        norm,
        applied,
      };
    });
  }

  #data(batch: PpoBatch): Data {
    const tf = this.#tf;
    const actions = outputsOf(this.actor.shape);
    // `gather` has no gradient on the WebAssembly backend, so the action is a one-hot row.
    const taken = new Float32Array(batch.rows * actions);
    for (let row = 0; row < batch.rows; row++) taken[row * actions + batch.actions[row]!] = 1;
    const masked = Float32Array.from(batch.masks, (allowed) => (allowed === 1 ? 0 : MASKED));
    return {
      taken: tf.tensor2d(taken, [batch.rows, actions]),
      masked: tf.tensor2d(masked, [batch.rows, actions]),
      before: tf.tensor1d(batch.logProbabilities),
      advantages: tf.tensor1d(batch.advantages),
      returns: tf.tensor1d(batch.returns),
    };
  }

  /** Loss, then the means: policy loss, value loss, entropy, divergence, clip fraction. */
  #loss(
    logits: Tensor2D,
    values: Tensor1D,
    { taken, masked, before, advantages, returns }: Data,
    { clip, entropyCoefficient, valueCoefficient }: PpoStepSettings,
  ): readonly Scalar[] {
    const tf = this.#tf;
    const logProbabilities = tf.logSoftmax(logits.add(masked));
    const logRatio = logProbabilities
      .mul(taken)
      .sum(1)
      .sub(before)
      .clipByValue(-WIDEST_LOG_RATIO, WIDEST_LOG_RATIO);
    const ratio = logRatio.exp();
    const free = ratio.mul(advantages);
    const bound = ratio.clipByValue(1 - clip, 1 + clip).mul(advantages);
    const policyLoss = tf.minimum(free, bound).mean().neg() as Scalar;
    const valueLoss = values.sub(returns).square().mean().mul(0.5) as Scalar;
    const entropy = logProbabilities.mul(logProbabilities.exp()).sum(1).mean().neg() as Scalar;
    const approxKl = ratio.sub(1).sub(logRatio).mean() as Scalar;
    const clipFraction = ratio.sub(1).abs().greater(clip).mean() as Scalar;
    const loss = policyLoss
      .add(valueLoss.mul(valueCoefficient))
      .sub(entropy.mul(entropyCoefficient)) as Scalar;
    return [loss, policyLoss, valueLoss, entropy, approxKl, clipFraction];
  }

  dispose(): void {
    this.actor.dispose();
    this.critic.dispose();
  }
}

interface Data {
  readonly taken: Tensor2D;
  readonly masked: Tensor2D;
  readonly before: Tensor1D;
  readonly advantages: Tensor1D;
  readonly returns: Tensor1D;
}
