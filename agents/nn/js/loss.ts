import {
  type PpoBatch,
  type PpoStepResult,
  type PpoStepSettings,
  WIDEST_LOG_RATIO,
} from '../engine.js';

type PolicyMeans = Pick<PpoStepResult, 'policyLoss' | 'entropy' | 'approxKl' | 'clipFraction'>;

/** Writes dL/d logits, [rows][actions]; returns the means over the rows. */
export function policyGradient(
  batch: PpoBatch,
  logits: Float32Array,
  settings: PpoStepSettings,
  gradient: Float32Array,
): PolicyMeans {
  const { rows } = batch;
  const sums = { policyLoss: 0, entropy: 0, approxKl: 0, clipFraction: 0 };
  for (let row = 0; row < rows; row++)
    policyRow(batch, row, logits.length / rows, logits, settings, gradient, sums);
  return {
    policyLoss: sums.policyLoss / rows,
    entropy: sums.entropy / rows,
    approxKl: sums.approxKl / rows,
    clipFraction: sums.clipFraction / rows,
  };
}

/** Writes dL/d values; returns half the mean squared error. */
export function valueGradientOf(
  batch: PpoBatch,
  values: Float32Array,
  { valueCoefficient }: PpoStepSettings,
  gradient: Float32Array,
): number {
  let sum = 0;
  for (let row = 0; row < batch.rows; row++) {
    const error = values[row]! - batch.returns[row]!;
    sum += 0.5 * error * error;
    gradient[row] = (valueCoefficient * error) / batch.rows;
  }
  return sum / batch.rows;
}

/**
 * dL/d logits of one row. With p = softmax of the allowed logits, H its entropy, r the ratio and A
 * the advantage: d(-r A)/d z_j = -A r (1{j = a} - p_j) while the row is not clipped, and d(-c H)/d
 * z_j = c p_j (ln p_j + H). By log-softmax only, so that large logits do not overflow.
 */
function policyRow(
  batch: PpoBatch,
  row: number,
  actions: number,
  logits: Float32Array,
  { clip, entropyCoefficient }: PpoStepSettings,
  gradient: Float32Array,
  sums: Record<keyof PolicyMeans, number>,
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
  sums.approxKl += ratio - 1 - cut;
  if (Math.abs(ratio - 1) > clip) sums.clipFraction++;
  for (let j = 0; j < actions; j++) {
    if (!allowed(j)) continue;
    const logProbability = logits[at + j]! - logSum;
    const p = Math.exp(logProbability);
    const own = pull * ((j === action ? 1 : 0) - p);
    gradient[at + j] = (own + entropyCoefficient * p * (logProbability + entropy)) / batch.rows;
  }
}
