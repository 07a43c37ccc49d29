import { checkActorCritic, checkBatch } from '../batch.js';
import type { ActorCritic, PpoBatch, PpoStepResult, PpoStepSettings } from '../engine.js';
import type { NetworkShape } from '../shape.js';
import { SimdNetwork } from './network.js';
import type { Workspace } from './workspace.js';

/** Words of `PpoJob` in assembly/ppo.ts, in its order; the six answers are doubles. */
const JOB = {
  actor: 0,
  critic: 1,
  inputs: 2,
  actions: 3,
  masks: 4,
  logProbabilities: 5,
  advantages: 6,
  returns: 7,
  rows: 8,
  workspace: 9,
  activations: 10,
  widest: 11,
  clip: 12,
  entropyCoefficient: 13,
  valueCoefficient: 14,
  maxGradNorm: 15,
  learningRate: 16,
  beta1: 17,
  beta2: 18,
  epsilon: 19,
  correct1: 20,
  correct2: 21,
  answers: 22,
} as const;
const JOB_BYTES = 4 * JOB.answers + 6 * 8;

export class SimdActorCritic implements ActorCritic {
  readonly actor: SimdNetwork;
  readonly critic: SimdNetwork;
  readonly #work: Workspace;

  constructor(actor: NetworkShape, critic: NetworkShape, workspace: Workspace) {
    checkActorCritic(actor, critic);
    this.#work = workspace;
    this.actor = new SimdNetwork(actor, workspace);
    this.critic = new SimdNetwork(critic, workspace);
  }

  ppoStep(batch: PpoBatch, settings: PpoStepSettings): PpoStepResult {
    checkBatch(batch, this.actor.shape);
    const { actor, critic } = this;
    const { kernels, arena } = this.#work;
    const { rows } = batch;

    // Addresses first: whatever may grow the memory comes before the first view is taken.
    const bytes = (array: { readonly byteLength: number }): number => (array.byteLength + 15) & ~15;
    const { inputs, actions, masks, logProbabilities, advantages, returns } = batch;
    const parts = { inputs, actions, masks, logProbabilities, advantages, returns };
    const total =
      ((JOB_BYTES + 15) & ~15) + Object.values(parts).reduce((sum, part) => sum + bytes(part), 0);
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
    for (const name of Object.keys(parts) as (keyof typeof parts)[])
      i32[word + JOB[name]] = place(parts[name]);
    i32[word + JOB.rows] = rows;
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
