import { checkActorCritic, checkBatch } from '../batch.js';
import type {
  ActorCritic,
  InputGradients,
  PpoBatch,
  PpoStepResult,
  PpoStepSettings,
} from '../engine.js';
import { inputsOf, type NetworkShape } from '../shape.js';
import { SimdNetwork } from './network.js';
import { padded, type Workspace } from './workspace.js';

/** Words of `PpoJob` in assembly/ppo.ts, in its order; the six answers are doubles. */
const JOB = {
  actor: 0,
  critic: 1,
  actorInputs: 2,
  criticInputs: 3,
  actions: 4,
  masks: 5,
  logProbabilities: 6,
  advantages: 7,
  returns: 8,
  rows: 9,
  actorInputGradient: 10,
  criticInputGradient: 11,
  workspace: 12,
  activations: 13,
  widest: 14,
  clip: 15,
  entropyCoefficient: 16,
  valueCoefficient: 17,
  maxGradNorm: 18,
  learningRate: 19,
  beta1: 20,
  beta2: 21,
  epsilon: 22,
  correct1: 23,
  correct2: 24,
  answers: 26,
} as const;
const JOB_BYTES = 4 * JOB.answers + 6 * 8;

export class SimdActorCritic implements ActorCritic {
  readonly actor: SimdNetwork;
  readonly critic: SimdNetwork;
  readonly #work: Workspace;

  constructor(actor: NetworkShape, critic: NetworkShape, workspace: Workspace) {
    checkActorCritic(critic);
    this.#work = workspace;
    this.actor = new SimdNetwork(actor, workspace);
    this.critic = new SimdNetwork(critic, workspace);
  }

  ppoStep(
    batch: PpoBatch,
    settings: PpoStepSettings,
    inputGradients?: InputGradients,
  ): PpoStepResult {
    checkBatch(batch, this.actor.shape, this.critic.shape, inputGradients);
    const { actor, critic } = this;
    const { kernels, arena } = this.#work;
    const { rows } = batch;
    const shared = batch.actorInputs === batch.criticInputs;

    // Addresses first: whatever may grow the memory comes before the first view is taken.
    const bytes = (array: { readonly byteLength: number }): number => (array.byteLength + 15) & ~15;
    const actorGradientBytes = inputGradients ? 4 * rows * padded(inputsOf(actor.shape)) : 0;
    const criticGradientBytes = inputGradients ? 4 * rows * padded(inputsOf(critic.shape)) : 0;
    const parts = [
      batch.actions,
      batch.masks,
      batch.logProbabilities,
      batch.advantages,
      batch.returns,
    ] as const;
    const total =
      ((JOB_BYTES + 15) & ~15) +
      bytes(batch.actorInputs) +
      (shared ? 0 : bytes(batch.criticInputs)) +
      parts.reduce((sum, part) => sum + bytes(part), 0) +
      actorGradientBytes +
      criticGradientBytes;
    const job = this.#work.staging(total);
    const activations = Math.max(actor.activations, critic.activations);
    const widest = Math.max(actor.widest, critic.widest);
    const workspace = this.#work.work(activations, widest);
    actor.prepareMoments();
    critic.prepareMoments();
    actor.prepareGradient(0);
    critic.prepareGradient(1);

    const { f32, i32, u8, f64 } = arena;
    let at = job + ((JOB_BYTES + 15) & ~15);
    const place = (array: Float32Array | Int32Array | Uint8Array): number => {
      const here = at;
      if (array instanceof Float32Array) f32.set(array, here >> 2);
      else if (array instanceof Int32Array) i32.set(array, here >> 2);
      else u8.set(array, here);
      at += bytes(array);
      return here;
    };
    const word = job >> 2;
    i32[word + JOB.actor] = actor.at;
    i32[word + JOB.critic] = critic.at;
    i32[word + JOB.actorInputs] = place(batch.actorInputs);
    i32[word + JOB.criticInputs] = shared
      ? i32[word + JOB.actorInputs]!
      : place(batch.criticInputs);
    i32[word + JOB.actions] = place(batch.actions);
    i32[word + JOB.masks] = place(batch.masks);
    i32[word + JOB.logProbabilities] = place(batch.logProbabilities);
    i32[word + JOB.advantages] = place(batch.advantages);
    i32[word + JOB.returns] = place(batch.returns);
    i32[word + JOB.rows] = rows;
    i32[word + JOB.actorInputGradient] = inputGradients ? at : 0;
    i32[word + JOB.criticInputGradient] = inputGradients ? at + actorGradientBytes : 0;
    i32[word + JOB.workspace] = workspace;
    i32[word + JOB.activations] = activations;
    i32[word + JOB.widest] = widest;
    f32[word + JOB.clip] = settings.clip;
    f32[word + JOB.entropyCoefficient] = settings.entropyCoefficient;
    f32[word + JOB.valueCoefficient] = settings.valueCoefficient;
    f32[word + JOB.maxGradNorm] = settings.maxGradNorm;
    f32[word + JOB.learningRate] = settings.learningRate;
    f32[word + JOB.beta1] = settings.beta1;
    f32[word + JOB.beta2] = settings.beta2;
    f32[word + JOB.epsilon] = settings.epsilon;
    // Both networks take every step together.
    f32[word + JOB.correct1] = 1 - settings.beta1 ** (actor.steps + 1);
    f32[word + JOB.correct2] = 1 - settings.beta2 ** (actor.steps + 1);

    const applied = kernels.ppoStep(job) !== 0;
    if (applied) {
      actor.steps++;
      critic.steps++;
    }
    if (inputGradients) {
      actor.readInputGradient(i32[word + JOB.actorInputGradient]!, rows, inputGradients.actor);
      critic.readInputGradient(i32[word + JOB.criticInputGradient]!, rows, inputGradients.critic);
    }
    const answer = (job + 4 * JOB.answers) >> 3;
    return {
      policyLoss: f64[answer]! / rows,
      valueLoss: f64[answer + 1]! / rows,
      entropy: f64[answer + 2]! / rows,
      approxKl: f64[answer + 3]! / rows,
      clipFraction: f64[answer + 4]! / rows,
      norm: f64[answer + 5]!,
      applied,
    };
  }

  dispose(): void {
    this.actor.dispose();
    this.critic.dispose();
  }
}
