import { adam, sumOfSquares } from './adam';
import { exp1, exp4, max4, sum4 } from './math';
import { backwardRows, CHUNK, forwardRows, Network, outputStride, width } from './network';

/** Below every logit, and still finite: its probability is 0 and nothing becomes NaN. */
const MASKED: f32 = -1e30;
/** The log-ratio is clipped to this, so that its exponential is finite. */
const WIDEST_LOG_RATIO: f32 = 20;

/** The arguments of one PPO step (agents/nn/simd/actor-critic.ts): addresses of unpadded rows. */
@unmanaged
class PpoJob {
  actor: Network;
  critic: Network;
  inputs: usize;
  /** int32 per row. */
  actions: usize;
  /** A byte per row and action; 0 is masked. */
  masks: usize;
  logProbabilities: usize;
  advantages: usize;
  returns: usize;
  rows: i32;
  workspace: usize;
  /** Floats of the activations of CHUNK rows, and the widest padded layer, of both networks. */
  activations: i32;
  widest: i32;
  clip: f32;
  entropyCoefficient: f32;
  valueCoefficient: f32;
  largestNorm: f32;
  rate: f32;
  beta1: f32;
  beta2: f32;
  epsilon: f32;
  correct1: f32;
  correct2: f32;
  /** Answers: sums over rows, then the norm of the gradient before the clip. */
  policyLoss: f64;
  valueLoss: f64;
  entropy: f64;
  approxKl: f64;
  clipped: f64;
  norm: f64;
}

/** dL/d logits of one row, in place of the logits; adds to the sums. */
function policyRow(job: PpoJob, row: i32, logits: usize, actions: i32, columns: i32): void {
  const mask = job.masks + (<usize>(row * actions));
  for (let j = 0; j < columns; j++) {
    if (j >= actions || load<u8>(mask + <usize>j) == 0)
      store<f32>(logits + ((<usize>j) << 2), MASKED);
  }
  const bytes = (<usize>columns) << 2;
  let peak = v128.load(logits);
  for (let i: usize = 16; i < bytes; i += 16) peak = f32x4.max(peak, v128.load(logits + i));
  const largest = max4(peak);
  let sum = f32x4.splat(0);
  for (let i: usize = 0; i < bytes; i += 16)
    sum = f32x4.add(sum, exp4(f32x4.sub(v128.load(logits + i), f32x4.splat(largest))));
  const logSum: f32 = largest + Mathf.log(sum4(sum));
  let negated = f32x4.splat(0);
  for (let i: usize = 0; i < bytes; i += 16) {
    const logProbability = f32x4.sub(v128.load(logits + i), f32x4.splat(logSum));
    negated = f32x4.add(negated, f32x4.mul(exp4(logProbability), logProbability));
  }
  const entropy = -sum4(negated);

  const at = (<usize>row) << 2;
  const action = load<i32>(job.actions + at);
  const advantage = load<f32>(job.advantages + at);
  const logProbability = load<f32>(logits + ((<usize>action) << 2)) - logSum;
  const logRatio = logProbability - load<f32>(job.logProbabilities + at);
  const cut = min(max(logRatio, -WIDEST_LOG_RATIO), WIDEST_LOG_RATIO);
  const ratio = exp1(cut);
  const free = ratio * advantage;
  const bound = min(max(ratio, 1 - job.clip), 1 + job.clip) * advantage;
  // A clipped row, or one whose log-ratio was cut, pulls no more.
  const pull: f32 = free <= bound && cut == logRatio ? -free : 0;
  job.policyLoss -= <f64>min(free, bound);
  job.entropy += <f64>entropy;
  job.approxKl += <f64>(ratio - 1) - <f64>cut;
  if (abs(ratio - 1) > job.clip) job.clipped += 1;
  // NaN must reach the gradient's norm, which then stops the update.
  const share: f32 = 1 / <f32>job.rows;
  const own: f32 = logRatio == logRatio ? pull : logRatio;
  const regular = job.entropyCoefficient;
  for (let i: usize = 0; i < bytes; i += 16) {
    const lp = f32x4.sub(v128.load(logits + i), f32x4.splat(logSum));
    const p = exp4(lp);
    // p (c (log p + H) - pull); the taken action gets its pull below.
    const spread = f32x4.mul(f32x4.add(lp, f32x4.splat(entropy)), f32x4.splat(regular));
    const g = f32x4.mul(p, f32x4.sub(spread, f32x4.splat(own)));
    v128.store(logits + i, f32x4.mul(g, f32x4.splat(share)));
  }
  const taken = logits + ((<usize>action) << 2);
  store<f32>(taken, load<f32>(taken) + own * share);
}

/** dL/d value of one row, in place of the value. */
function valueRow(job: PpoJob, row: i32, value: usize): void {
  const error = load<f32>(value) - load<f32>(job.returns + ((<usize>row) << 2));
  job.valueLoss += 0.5 * <f64>error * <f64>error;
  store<f32>(value, (job.valueCoefficient * error) / <f32>job.rows);
}

/** The gradient of the loss over all rows, left in both networks' `gradients`. */
function ppoGradients(job: PpoJob): void {
  const actor = job.actor;
  const critic = job.critic;
  memory.fill(actor.gradients, 0, (<usize>actor.size) << 2);
  memory.fill(critic.gradients, 0, (<usize>critic.size) << 2);
  job.policyLoss = 0;
  job.valueLoss = 0;
  job.entropy = 0;
  job.approxKl = 0;
  job.clipped = 0;
  const acts = job.workspace;
  const scratch = acts + ((<usize>job.activations) << 2);
  const actions = width(actor, actor.layers);
  const inputStride = (<usize>width(actor, 0)) << 2;
  const logitStride = outputStride(actor);
  const valueStride = outputStride(critic);
  for (let from = 0; from < job.rows; from += CHUNK) {
    const rows = min(CHUNK, job.rows - from);
    const x = job.inputs + (<usize>from) * inputStride;
    const logits = forwardRows(actor, x, rows, acts);
    for (let r = 0; r < rows; r++)
      policyRow(job, from + r, logits + (<usize>r) * logitStride, actions, <i32>(logitStride >> 2));
    backwardRows(actor, x, rows, acts, logits, 0, scratch, job.widest);
    const values = forwardRows(critic, x, rows, acts);
    for (let r = 0; r < rows; r++) valueRow(job, from + r, values + (<usize>r) * valueStride);
    backwardRows(critic, x, rows, acts, values, 0, scratch, job.widest);
  }
}

/** One step of Adam on both networks, clipped together. False: not finite, nothing has changed. */
export function ppoStep(job: PpoJob): bool {
  ppoGradients(job);
  const norm = Math.sqrt(
    sumOfSquares(job.actor.gradients, job.actor.size) +
      sumOfSquares(job.critic.gradients, job.critic.size),
  );
  job.norm = norm;
  if (!isFinite(norm) || !isFinite(job.policyLoss + job.valueLoss)) return false;
  const scale: f32 = norm > <f64>job.largestNorm ? <f32>(<f64>job.largestNorm / norm) : 1;
  update(job.actor, job, scale);
  update(job.critic, job, scale);
  return true;
}

function update(net: Network, job: PpoJob, scale: f32): void {
  adam(
    net.parameters, net.gradients, net.first, net.second, net.size,
    scale, job.rate, job.beta1, job.beta2, job.epsilon, job.correct1, job.correct2,
  );
}
