import { type Random, SeededRandom } from '../../../config/index.js';
import { type ActorCritic, adamDefaults, type Engine, type Network } from '../../nn/index.js';
import {
  type LearnerState,
  MaskedCategorical,
  type PpoAgentShape,
  PpoLearner,
  type PpoSettings,
  ppoShapes,
  Rollout,
} from '../../ppo/index.js';
import { batches, type DemonstratedEpisode, returnsOf, stepsOf } from './demonstration.js';
import { Surrogate } from './surrogate.js';

// Bootstrapping [AWARE]: behavior cloning, critic regression, then PPO in a fitted model.
const CLONE_EPOCHS = 10;
/** Share of the probability that goes to all allowed actions alike. */
const SMOOTHING = 0.05;
const CRITIC_EPOCHS = 4;
const ADAM = { ...adamDefaults, learningRate: 1e-3 };
/** Recorded episodes from which a surrogate is fitted. */
export const SURROGATE_FROM = 4;
/** PPO in the surrogate: at most this many rounds, each of `BRANCHES` of `LENGTH` steps. */
const ROUNDS = 4;
const BRANCHES = 48;
const LENGTH = 8;

/** An offline training round of a PPO agent; plain data. */
export interface OfflineJob {
  readonly shape: PpoAgentShape;
  /** How many of the inputs change from step to step; the others are the embedding. */
  readonly features: number;
  readonly ppo: PpoSettings;
  /** Recorded episodes from which a surrogate is fitted. */
  readonly surrogateFrom: number;
  readonly state: LearnerState;
  readonly episodes: readonly DemonstratedEpisode[];
  /** False for an agent that starts from a trained policy, which stays as it is. */
  readonly clone: boolean;
  readonly seed: number;
}

export interface OfflineResult {
  readonly state: LearnerState;
  /**
   * Gain over the fallback per step in the newest episode, by replay; 0: of a policy that was
   * trained before; null: too few episodes.
   */
  readonly estimatedGain: number | null;
}

/**
 * Cloning in the first episodes, PPO in the surrogate later, the critic in each round. Of a policy
 * that was trained before only the critic learns.
 */
export function learnOffline(engine: Engine, job: OfflineJob): OfflineResult {
  const { shape, features, ppo, episodes, seed } = job;
  const { actor, critic } = ppoShapes(shape, ppo);
  const pair = engine.actorCritic(actor, critic);
  const random = new SeededRandom(seed).fork(
    `offline ${episodes.length} ${job.state.counters.steps}`,
  );
  try {
    const learner = new PpoLearner(pair, ppo, random.fork('learner'));
    learner.import(job.state);
    const early = episodes.length < job.surrogateFrom;
    if (job.clone && early) cloneActor(pair.actor, episodes, random.fork('clone'));
    regressCritic(pair.critic, episodes, ppo.gamma, random.fork('critic'));
    // The surrogate knows only the fallback's actions: training in it spoils a trained policy, and
    // its estimate says nothing of one. Online the guard and the returns judge it.
    if (!job.clone) return { state: learner.export(), estimatedGain: 0 };
    if (early) return { state: learner.export(), estimatedGain: null };
    const sizes = { features, actions: shape.actions };
    return withSurrogate(engine, episodes, sizes, random.fork('surrogate'), (surrogate) => {
      const evaluate = (): number | null => estimatedGainOf(pair.actor, surrogate, shape, episodes);
      let estimatedGain = evaluate();
      // Beyond the fallback's reward the agent would learn the surrogate's errors.
      for (let round = 0; round < ROUNDS && estimatedGain !== null && estimatedGain < 0; round++) {
        trainInSurrogate(pair, learner, surrogate, job, random.fork(`round ${round}`));
        estimatedGain = evaluate();
      }
      return { state: learner.export(), estimatedGain };
    });
  } finally {
    pair.dispose();
  }
}

/** Fits a surrogate for as long as `use` runs. */
export function withSurrogate<Result>(
  engine: Engine,
  episodes: readonly DemonstratedEpisode[],
  sizes: { readonly features: number; readonly actions: number },
  random: Random,
  use: (surrogate: Surrogate) => Result,
): Result {
  const surrogate = Surrogate.fit(engine, episodes, sizes, random);
  try {
    return use(surrogate);
  } finally {
    surrogate.dispose();
  }
}

/** Cross-entropy with the fallback's actions, among those that were allowed. */
export function cloneActor(
  actor: Network,
  episodes: readonly DemonstratedEpisode[],
  random: Random,
): void {
  const steps = stepsOf(episodes);
  const width = actor.shape.widths[0]!;
  const actions = actor.shape.widths.at(-1)!;
  const categorical = new MaskedCategorical(actions);
  for (let epoch = 0; epoch < CLONE_EPOCHS; epoch++)
    for (const some of batches(steps.length, 64, random)) {
      const x = new Float32Array(some.length * width);
      const logits = new Float32Array(some.length * actions);
      some.forEach((row, i) => {
        x.set(steps[row]!.input, i * width);
      });
      actor.forwardBatch(x, some.length, logits);
      const gradient = new Float32Array(logits.length);
      some.forEach((row, i) => {
        const { mask, action } = steps[row]!;
        if (
          mask[action] !== 1 ||
          !categorical.set(logits.subarray(i * actions, (i + 1) * actions), mask)
        )
          return;
        let allowed = 0;
        for (const one of mask) allowed += one;
        for (let a = 0; a < actions; a++) {
          if (mask[a] !== 1) continue;
          const target = SMOOTHING / allowed + (a === action ? 1 - SMOOTHING : 0);
          gradient[i * actions + a] =
            (Math.exp(categorical.logProbabilities[a]!) - target) / some.length;
        }
      });
      actor.train(x, some.length, gradient, ADAM);
    }
}

/** Regression of the critic on the returns that followed. */
function regressCritic(
  critic: Network,
  episodes: readonly DemonstratedEpisode[],
  gamma: number,
  random: Random,
): void {
  const steps = stepsOf(episodes);
  const targets = Float32Array.from(
    episodes.flat().flatMap((segment) => [...returnsOf(segment, gamma)]),
  );
  const width = critic.shape.widths[0]!;
  for (let epoch = 0; epoch < CRITIC_EPOCHS; epoch++)
    for (const some of batches(steps.length, 64, random)) {
      const x = new Float32Array(some.length * width);
      const gradient = new Float32Array(some.length);
      some.forEach((row, i) => {
        x.set(steps[row]!.input, i * width);
      });
      critic.forwardBatch(x, some.length, gradient);
      some.forEach((row, i) => {
        gradient[i] = (gradient[i]! - targets[row]!) / some.length;
      });
      critic.train(x, some.length, gradient, ADAM);
    }
}

/** Starts of branches: recorded steps. Their mask is kept for the few steps of a branch. */
function startsOf(episodes: readonly DemonstratedEpisode[], count: number, random: Random) {
  const steps = stepsOf(episodes);
  return Array.from({ length: count }, () => steps[random.below(steps.length)]!);
}

function trainInSurrogate(
  pair: ActorCritic,
  learner: PpoLearner,
  surrogate: Surrogate,
  { shape, ppo, episodes }: OfflineJob,
  random: Random,
): void {
  const { features: width, actions } = shape;
  const rollout = new Rollout(BRANCHES * LENGTH, { features: width, actions });
  const categorical = new MaskedCategorical(actions);
  const logits = new Float32Array(actions);
  for (const { input, mask } of startsOf(episodes, BRANCHES, random.fork('starts'))) {
    const state = input.slice();
    for (let step = 0; step < LENGTH; step++) {
      const seen = state.slice();
      pair.actor.forward(seen, logits);
      if (!categorical.set(logits, mask)) break;
      const action = categorical.sample(random);
      const logProbability = categorical.logProbabilities[action]!;
      const reward = surrogate.step(state, action);
      rollout.add({ input: seen, mask, action, logProbability, reward, discount: ppo.gamma });
    }
    rollout.cut(state);
  }
  if (rollout.rows > 0) learner.update(rollout);
}

/**
 * Mean reward per step of the agent's best actions less the fallback's, from each step of the
 * newest episode. Both run in the surrogate, so that its errors cancel where they act alike.
 */
export function estimatedGainOf(
  actor: Network,
  surrogate: Surrogate,
  { actions }: Pick<PpoAgentShape, 'actions'>,
  episodes: readonly DemonstratedEpisode[],
): number | null {
  const categorical = new MaskedCategorical(actions);
  const logits = new Float32Array(actions);
  let sum = 0;
  let count = 0;
  for (const { steps } of episodes.at(-1) ?? [])
    for (const [from, { input, mask }] of steps.entries()) {
      const agent = input.slice();
      const fallback = input.slice();
      for (const { action } of steps.slice(from, from + LENGTH)) {
        actor.forward(agent, logits);
        if (!categorical.set(logits, mask)) return null;
        sum += surrogate.step(agent, categorical.best) - surrogate.step(fallback, action);
        count++;
      }
    }
  return count > 0 ? sum / count : null;
}
