import { checkActorCritic, checkBatch } from '../batch.js';
import {
  type ActorCritic,
  type InputGradients,
  type PpoBatch,
  type PpoStepResult,
  type PpoStepSettings,
  WIDEST_LOG_RATIO,
} from '../engine.js';
import { type NetworkShape, outputsOf } from '../shape.js';
import { clipScale, sumOfSquares } from './adam.js';
import { JsNetwork } from './network.js';

/** Sums over the rows of a batch. */
interface Sums {
  policyLoss: number;
  entropy: number;
  divergence: number;
  clipped: number;
}

export class JsActorCritic implements ActorCritic {
  readonly actor: JsNetwork;
  readonly critic: JsNetwork;

  constructor(actor: NetworkShape, critic: NetworkShape) {
    checkActorCritic(critic);
    this.actor = new JsNetwork(actor);
    this.critic = new JsNetwork(critic);
  }

  ppoStep(batch: PpoBatch, settings: PpoStepSettings, inputGradients?: InputGradients): PpoStepResult {
    checkBatch(batch, this.actor.shape, this.critic.shape, inputGradients);
    const { rows } = batch;
    const actions = outputsOf(this.actor.shape);
    const sums: Sums = { policyLoss: 0, entropy: 0, divergence: 0, clipped: 0 };
    const logits = this.actor.activate(batch.actorInputs, rows);
    const logitGradient = new Float32Array(rows * actions);
    for (let row = 0; row < rows; row++) policyRow(batch, row, actions, logits, settings, logitGradient, sums);
    this.actor.backward(logitGradient, inputGradients?.actor);

    const values = this.critic.activate(batch.criticInputs, rows);
    const valueGradient = new Float32Array(rows);
    let valueLoss = 0;
    for (let row = 0; row < rows; row++) {
      const error = values[row]! - batch.returns[row]!;
      valueLoss += 0.5 * error * error;
      valueGradient[row] = (settings.valueCoefficient * error) / rows;
    }
    this.critic.backward(valueGradient, inputGradients?.critic);

    const norm = Math.sqrt(sumOfSquares(this.actor.gradient) + sumOfSquares(this.critic.gradient));
    const applied = Number.isFinite(norm) && Number.isFinite(sums.policyLoss + valueLoss);
    if (applied) {
      const scale = clipScale(norm, settings.largestNorm);
      this.actor.step(settings, scale);
      this.critic.step(settings, scale);
    }
    return {
      policyLoss: sums.policyLoss / rows,
      valueLoss: valueLoss / rows,
      entropy: sums.entropy / rows,
      divergence: sums.divergence / rows,
      clipFraction: sums.clipped / rows,
      norm,
      applied,
    };
  }

  dispose(): void {
    this.actor.dispose();
    this.critic.dispose();
  }
}

/**
 * dL/d logits of one row. With p = softmax of the allowed logits, H its entropy, r the ratio and A the advantage:
 * d(-r A)/d z_j = -A r (1{j = a} - p_j) while the row is not clipped, and d(-c H)/d z_j = c p_j (ln p_j + H). By log-softmax only (A5-04).
 */
function policyRow(
  batch: PpoBatch,
  row: number,
  actions: number,
  logits: Float32Array,
  { clip, entropyCoefficient }: PpoStepSettings,
  gradient: Float32Array,
  sums: Sums,
): void {
  const at = row * actions;
  const allowed = (j: number): boolean => batch.masks[at + j] === 1;
  let largest = Number.NEGATIVE_INFINITY;
  for (let j = 0; j < actions; j++) if (allowed(j)) largest = Math.max(largest, logits[at + j]!);
  let sum = 0;
  for (let j = 0; j < actions; j++) if (allowed(j)) sum += Math.exp(logits[at + j]! - largest);
  const logSum = largest + Math.log(sum);
  let entropy = 0;
  for (let j = 0; j < actions; j++) {
    if (!allowed(j)) continue;
    const logProbability = logits[at + j]! - logSum;
    entropy -= Math.exp(logProbability) * logProbability;
  }
  const action = batch.actions[row]!;
  const advantage = batch.advantages[row]!;
  const logRatio = logits[at + action]! - logSum - batch.logProbabilities[row]!;
  const cut = Math.min(Math.max(logRatio, -WIDEST_LOG_RATIO), WIDEST_LOG_RATIO);
  const ratio = Math.exp(cut);
  const free = ratio * advantage;
  const bound = Math.min(Math.max(ratio, 1 - clip), 1 + clip) * advantage;
  const pull = Number.isNaN(logRatio) ? logRatio : free <= bound && cut === logRatio ? -free : 0;
  sums.policyLoss -= Math.min(free, bound);
  sums.entropy += entropy;
  sums.divergence += ratio - 1 - cut;
  if (Math.abs(ratio - 1) > clip) sums.clipped++;
  for (let j = 0; j < actions; j++) {
    if (!allowed(j)) continue;
    const logProbability = logits[at + j]! - logSum;
    const p = Math.exp(logProbability);
    const own = pull * ((j === action ? 1 : 0) - p);
    gradient[at + j] = (own + entropyCoefficient * p * (logProbability + entropy)) / batch.rows;
  }
}
