import { checkActorCritic, checkBatch } from '../batch.js';
import type {
  ActorCritic,
  InputGradients,
  PpoBatch,
  PpoStepResult,
  PpoStepSettings,
} from '../engine.js';
import { clipScale } from '../network.js';
import { type NetworkShape, outputsOf } from '../shape.js';
import { policyGradient, valueGradientOf } from './loss.js';
import { JsNetwork } from './network.js';

export class JsActorCritic implements ActorCritic {
  readonly actor: JsNetwork;
  readonly critic: JsNetwork;

  constructor(actor: NetworkShape, critic: NetworkShape) {
    checkActorCritic(critic);
    this.actor = new JsNetwork(actor);
    this.critic = new JsNetwork(critic);
  }

  ppoStep(
    batch: PpoBatch,
    settings: PpoStepSettings,
    inputGradients?: InputGradients,
  ): PpoStepResult {
    checkBatch(batch, this.actor.shape, this.critic.shape, inputGradients);
    const { rows } = batch;
    const logits = this.actor.activate(batch.actorInputs, rows);
    const logitGradient = new Float32Array(rows * outputsOf(this.actor.shape));
    const policy = policyGradient(batch, logits, settings, logitGradient);
    this.actor.backward(logitGradient, inputGradients?.actor);

    const valueGradient = new Float32Array(rows);
    const values = this.critic.activate(batch.criticInputs, rows);
    const valueLoss = valueGradientOf(batch, values, settings, valueGradient);
    this.critic.backward(valueGradient, inputGradients?.critic);

    const norm = Math.sqrt(this.actor.gradientSquares() + this.critic.gradientSquares());
    const applied = Number.isFinite(norm) && Number.isFinite(policy.policyLoss + valueLoss);
    if (applied) {
      const scale = clipScale(norm, settings.maxGradNorm);
      this.actor.step(settings, scale);
      this.critic.step(settings, scale);
    }
    return { ...policy, valueLoss, norm, applied };
  }

  dispose(): void {
    this.actor.dispose();
    this.critic.dispose();
  }
}
