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
import { batches, type DemonstratedEpisode, meanReward, returnsOf } from './demonstration.js';
import { Surrogate, type SurrogateSettings, surrogateSettings } from './surrogate.js';

/** Bootstrapping [AWARE]: behavior cloning, critic regression, then PPO in a fitted model. */
export interface OfflineSettings {
  readonly cloneEpochs: number;
  /** Share of the probability that goes to all allowed actions alike. */
  readonly smoothing: number;
  readonly criticEpochs: number;
  readonly learningRate: number;
  readonly surrogate: SurrogateSettings;
  /**
   * PPO in the surrogate ends at this gain / mean reward: beyond it the agent learns its errors.
   */
  readonly enough: number;
  /** Rounds of PPO in the surrogate, from that many episodes on: `branches` of `length` steps. */
  readonly rounds: number;
  readonly from: number;
  readonly branches: number;
  readonly length: number;
}

export const offlineSettings: OfflineSettings = {
  cloneEpochs: 10,
  smoothing: 0.05,
  criticEpochs: 4,
  learningRate: 1e-3,
  surrogate: surrogateSettings,
  enough: 0,
  rounds: 4,
  from: 4,
  branches: 48,
  length: 8,
};

/** An offline training round of a PPO agent; plain data. */
export interface OfflineJob {
  readonly shape: PpoAgentShape;
  /** How many of the inputs change from step to step; the others are the embedding. */
  readonly features: number;
  readonly ppo: PpoSettings;
  readonly settings: OfflineSettings;
  readonly state: LearnerState;
  readonly episodes: readonly DemonstratedEpisode[];
  /** Clone the fallback's actions; false for an agent that starts from a trained policy. */
  readonly clone: boolean;
  readonly seed: number;
}

export interface OfflineResult {
  readonly state: LearnerState;
  /** Gain over the fallback per step in the newest episode, by replay; null: too few episodes. */
  readonly estimatedGain: number | null;
}

/** Cloning in the first episodes, PPO in the surrogate later, the critic in each round. */
export function learnOffline(engine: Engine, job: OfflineJob): OfflineResult {
  const { shape, features, ppo, settings, episodes, seed } = job;
  const { actor, critic } = ppoShapes(shape, ppo);
  const pair = engine.actorCritic(actor, critic);
  const random = new SeededRandom(seed).fork(
    `offline ${episodes.length} ${job.state.counters.steps}`,
  );
  try {
    const learner = new PpoLearner(pair, ppo, random.fork('learner'));
    learner.import(job.state);
    const early = episodes.length < settings.from;
    if (job.clone && early) cloneActor(pair.actor, episodes, settings, random.fork('clone'));
    regressCritic(pair.critic, episodes, ppo.gamma, settings, random.fork('critic'));
    if (early) return { state: learner.export(), estimatedGain: null };
    const sizes = { features, actions: shape.actions };
    const surrogate = Surrogate.fit(
      engine,
      episodes,
      sizes,
      settings.surrogate,
      random.fork('surrogate'),
    );
    try {
      const enough = settings.enough * Math.abs(meanReward(episodes));
      const evaluate = (): number | null =>
        estimatedGainOf(pair.actor, surrogate, shape, settings.length, episodes);
      let estimatedGain = evaluate();
      for (
        let round = 0;
        round < settings.rounds && estimatedGain !== null && estimatedGain < enough;
        round++
      ) {
        trainInSurrogate(pair, learner, surrogate, job, random.fork(`round ${round}`));
        estimatedGain = evaluate();
      }
      return { state: learner.export(), estimatedGain };
    } finally {
      surrogate.dispose();
    }
  } finally {
    pair.dispose();
  }
}

/** Cross-entropy with the fallback's actions, among those that were allowed. */
export function cloneActor(
  actor: Network,
  episodes: readonly DemonstratedEpisode[],
  {
    cloneEpochs,
    smoothing,
    learningRate,
  }: Pick<OfflineSettings, 'cloneEpochs' | 'smoothing' | 'learningRate'>,
  random: Random,
): void {
  const steps = episodes.flatMap((episode) => episode.steps);
  const width = actor.shape.widths[0]!;
  const actions = actor.shape.widths.at(-1)!;
  const categorical = new MaskedCategorical(actions);
  for (let epoch = 0; epoch < cloneEpochs; epoch++)
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
          const target = smoothing / allowed + (a === action ? 1 - smoothing : 0);
          gradient[i * actions + a] =
            (Math.exp(categorical.logProbabilities[a]!) - target) / some.length;
        }
      });
      actor.train(x, some.length, gradient, { ...adamDefaults, learningRate });
    }
}

/** Regression of the critic on the returns that followed. */
function regressCritic(
  critic: Network,
  episodes: readonly DemonstratedEpisode[],
  gamma: number,
  { criticEpochs, learningRate }: Pick<OfflineSettings, 'criticEpochs' | 'learningRate'>,
  random: Random,
): void {
  const steps = episodes.flatMap((episode) => episode.steps);
  const targets = Float32Array.from(episodes.flatMap((episode) => [...returnsOf(episode, gamma)]));
  const width = critic.shape.widths[0]!;
  for (let epoch = 0; epoch < criticEpochs; epoch++)
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
      critic.train(x, some.length, gradient, { ...adamDefaults, learningRate });
    }
}

/** Starts of branches: recorded steps. Their mask is kept for the few steps of a branch. */
function startsOf(episodes: readonly DemonstratedEpisode[], count: number, random: Random) {
  const steps = episodes.flatMap((episode) => episode.steps);
  return Array.from({ length: count }, () => steps[random.below(steps.length)]!);
}

function trainInSurrogate(
  pair: ActorCritic,
  learner: PpoLearner,
  surrogate: Surrogate,
  { shape, ppo, settings, episodes }: OfflineJob,
  random: Random,
): void {
  const { features: width, actions } = shape;
  const { branches, length } = settings;
  const rollout = new Rollout(branches * length, { features: width, actions });
  const categorical = new MaskedCategorical(actions);
  const logits = new Float32Array(actions);
  for (const { input, mask } of startsOf(episodes, branches, random.fork('starts'))) {
    const state = input.slice();
    for (let step = 0; step < length; step++) {
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
 * Mean reward per step of the agent's best actions less that of the fallback's, in branches from
 * each step of the newest episode. Both are replayed in the surrogate, so that its errors and its
 * penalty cancel where the two act alike; against the measured reward an agent that acts like the
 * fallback would always be behind.
 */
export function estimatedGainOf(
  actor: Network,
  surrogate: Surrogate,
  { actions }: Pick<PpoAgentShape, 'actions'>,
  length: number,
  episodes: readonly DemonstratedEpisode[],
): number | null {
  const categorical = new MaskedCategorical(actions);
  const logits = new Float32Array(actions);
  const steps = episodes.at(-1)?.steps ?? [];
  let sum = 0;
  let count = 0;
  for (const [from, { input, mask }] of steps.entries()) {
    const agent = input.slice();
    const fallback = input.slice();
    for (const { action } of steps.slice(from, from + length)) {
      actor.forward(agent, logits);
      if (!categorical.set(logits, mask)) return null;
      sum += surrogate.step(agent, categorical.best) - surrogate.step(fallback, action);
      count++;
    }
  }
  return count > 0 ? sum / count : null;
}
