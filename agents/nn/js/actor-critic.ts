import { checkActorCritic, checkBatch } from '../batch.js';
import type { ActorCritic, PpoBatch, PpoStepResult, PpoStepSettings } from '../engine.js';
import { clipScale } from '../network.js';
import { type NetworkShape, outputsOf } from '../shape.js';
import { policyGradient, valueGradientOf } from './loss.js';
import { JsNetwork } from './network.js';

export class JsActorCritic implements ActorCritic {
  readonly actor: JsNetwork;
  readonly critic: JsNetwork;

  constructor(actor: NetworkShape, critic: NetworkShape) {
    checkActorCritic(actor, critic);
    this.actor = new JsNetwork(actor);
    this.critic = new JsNetwork(critic);
  }

  ppoStep(batch: PpoBatch, settings: PpoStepSettings): PpoStepResult {
    checkBatch(batch, this.actor.shape);
    const { rows } = batch;
    const logits = this.actor.activate(batch.inputs, rows);
    const logitGradient = new Float32Array(rows * outputsOf(this.actor.shape));
    const policy = policyGradient(batch, logits, settings, logitGradient);
    this.actor.backward(logitGradient);

    const valueGradient = new Float32Array(rows);
    const values = this.critic.activate(batch.inputs, rows);
    const valueLoss = valueGradientOf(batch, values, settings, valueGradient);
    this.critic.backward(valueGradient);

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
