import {
  cosine,
  Encoder,
  type EncoderShape,
  META_FEATURES,
  type MetaLearner,
  metaFeatures,
  metaReward,
  NO_RATES,
  type Trajectory,
  TrajectoryRecorder,
} from '../../agents/aware/index.js';
import type { ActorCritic, Engine } from '../../agents/nn/index.js';
import {
  MaskedCategorical,
  newActorCritic,
  PpoLearner,
  type PpoSettings,
  Rollout,
  simulatorSettings,
} from '../../agents/ppo/index.js';
import { SIMPPO_ACTIONS } from '../../agents/simppo/index.js';
import { type Random, SeededRandom } from '../../config/index.js';
import type { AwareApp, InputKind } from '../../simulator/workload/index.js';
import {
  type AwareAllocation,
  afterAction,
  allocationMask,
  INITIAL,
  RANGES,
} from './allocation.js';
import { type Condition, type Demand, demandOf } from './demand.js';
import { contrastive, EncoderTrainer } from './encoder-trainer.js';
import { controlledEpisode, FLASH_EPISODE_STEPS } from './episodes.js';
import { hpaVpaController, TUNINGS } from './rule-based.js';
import { AwareSystem } from './system.js';

export interface MetaTraining {
  readonly seed: number;
  readonly encoder: EncoderShape;
  readonly ppo: PpoSettings;
  /**
   * Rounds in which the encoder learns too, and those after it in which only the base-learner does.
   */
  readonly rounds: number;
  readonly baseRounds: number;
  /**
   * Applications of one round: each a workload for the contrast, and an episode of the
   * base-learner.
   */
  readonly applications: number;
  readonly encoderRate: number;
  readonly temperature: number;
  /** Share of the bundles that come empty: at its first episode a function has none. 1: all. */
  readonly empty: number;
}

/** Numbers of one step as the meta-learner reads it. */
const STEP_WIDTH = META_FEATURES.length + SIMPPO_ACTIONS.length + 1;

export const metaTraining: MetaTraining = {
  seed: 1,
  // Published: 256 hidden. 32 for speed: a quarter of the time of 64, and embeddings tell workloads
  // apart as well (docs/model-card.md).
  encoder: { width: STEP_WIDTH, hidden: 32, embedding: 64 },
  ppo: {
    ...simulatorSettings,
    gamma: 0.95,
    learningRate: { first: 1e-3, last: 1e-4 },
    entropy: { first: 0.02, last: 0.003 },
  },
  rounds: 120,
  baseRounds: 380,
  applications: 16,
  encoderRate: 1e-3,
  temperature: 0.1,
  empty: 0.1,
};

/**
 * The same for a base-learner alone, which never has an embedding: with as many updates, so that
 * what an embedding adds can be told from what training adds.
 */
export const withoutEmbedding = (training: MetaTraining): MetaTraining => ({
  ...training,
  rounds: 0,
  baseRounds: training.rounds + training.baseRounds,
  empty: 1,
});

export interface MetaProgress {
  readonly round: number;
  readonly contrast: number | null;
  readonly earned: number;
}

const KINDS: readonly InputKind[] = ['file', 'table', 'operations', 'image', 'document', 'matrix'];

/**
 * An application in some condition of its own: as it is, with another load, or with larger
 * payloads.
 */
function someCondition(random: Random): Condition {
  const activationsPerDay =
    random.next() < 0.5 ? undefined : Math.round(1000 * 300 ** random.next());
  const grown = random.next() < 0.7 ? undefined : KINDS[random.below(KINDS.length)]!;
  return {
    ...(activationsPerDay === undefined ? {} : { activationsPerDay }),
    ...(grown === undefined ? {} : { grown }),
  };
}

const somewhere = (random: Random): AwareAllocation => {
  const between = (
    { least, step }: { least: number; step: number },
    share: number,
    most: number,
  ): number => least + step * Math.floor((share * (most - least)) / step);
  return {
    cpu: between(RANGES.cpu, random.next(), RANGES.cpu.most),
    memory: between(RANGES.memory, random.next(), INITIAL.memory),
    containers: between(RANGES.containers, random.next() ** 2, RANGES.containers.most),
  };
};

/**
 * An episode under the rule-based controller with some setting: what a new function's trajectories
 * are.
 */
export function fallbackTrajectory(demand: Demand, random: Random): Trajectory {
  const system = new AwareSystem(demand, random.below(2 ** 31));
  const controller = hpaVpaController(demand, TUNINGS[random.below(TUNINGS.length)]!);
  // Half of them from the beginning, half when it has settled.
  const settled = random.next() < 0.5 ? null : controlledEpisode(system, controller, null).snapshot;
  return controlledEpisode(system, controller, settled).trajectory;
}

/** An episode of the base-learner, sampled, from anywhere; into `rollout` where one is given. */
function baseEpisode(
  demand: Demand,
  embedding: Float32Array,
  pair: ActorCritic,
  gamma: number,
  random: Random,
  rollout: Rollout | null,
): Trajectory {
  const system = new AwareSystem(demand, random.below(2 ** 31));
  const recorder = new TrajectoryRecorder(META_FEATURES.length, SIMPPO_ACTIONS.length);
  const categorical = new MaskedCategorical(SIMPPO_ACTIONS.length);
  const logits = new Float32Array(SIMPPO_ACTIONS.length);
  const width = META_FEATURES.length + embedding.length;
  let snapshot = system.step(somewhere(random));
  let rates = NO_RATES;
  const seen = (): Float32Array => {
    const input = new Float32Array(width);
    rates = metaFeatures(snapshot, rates, input);
    input.set(embedding, META_FEATURES.length);
    return input;
  };
  let input = seen();
  for (let step = 0; step < FLASH_EPISODE_STEPS; step++) {
    const mask = allocationMask(snapshot.allocation, new Uint8Array(SIMPPO_ACTIONS.length));
    pair.actor.forward(input, logits);
    if (!categorical.set(logits, mask)) break;
    const action = categorical.sample(random);
    snapshot = system.step(afterAction(snapshot.allocation, action));
    const reward = metaReward(snapshot);
    const logProbability = categorical.logProbabilities[action]!;
    rollout?.add({ input, mask, action, logProbability, reward, discount: gamma });
    recorder.add(input, action, reward);
    input = seen();
  }
  rollout?.cut(input);
  return recorder.take();
}

/**
 * dL/d embedding of each application's episode: of the policy gradient with normalized returns,
 * through the actor's input.
 */
function policyGradients(rollout: Rollout, pair: ActorCritic, embedding: number): Float32Array[] {
  const { rows, inputs } = rollout;
  const actions = SIMPPO_ACTIONS.length;
  const width = inputs.length / rows;
  const values = new Float32Array(rows);
  pair.critic.forwardBatch(inputs, rows, values);
  const logits = new Float32Array(rows * actions);
  pair.actor.forwardBatch(inputs, rows, logits);
  const categorical = new MaskedCategorical(actions);
  const outer = new Float32Array(rows * actions);
  const errors = rollout.segments.flatMap(({ from, to }) =>
    Array.from({ length: to - from }, (_, i) => {
      const row = from + i;
      const next = row + 1 < to ? values[row + 1]! : values[row]!;
      return rollout.rewards[row]! + rollout.discounts[row]! * next - values[row]!;
    }),
  );
  const deviation = Math.sqrt(errors.reduce((sum, one) => sum + one * one, 0) / rows) + 1e-8;
  for (let row = 0; row < rows; row++) {
    const mask = rollout.masks.subarray(row * actions, (row + 1) * actions);
    if (!categorical.set(logits.subarray(row * actions, (row + 1) * actions), mask)) continue;
    for (let a = 0; a < actions; a++)
      if (mask[a] === 1)
        outer[row * actions + a] =
          ((errors[row]! / deviation) *
            (Math.exp(categorical.logProbabilities[a]!) - Number(a === rollout.actions[row]))) /
          rows;
  }
  const inner = new Float32Array(inputs.length);
  pair.actor.gradients(inputs, rows, outer, pair.actor.export(), inner);
  return rollout.segments.map(({ from, to }) => {
    const sum = new Float32Array(embedding);
    for (let row = from; row < to; row++)
      for (let i = 0; i < embedding; i++) sum[i]! += inner[(row + 1) * width - embedding + i]!;
    return sum;
  });
}

/**
 * Trains meta-learner and base-learner together [AWARE]: the base-learner by PPO on the episodes of
 * all sampled applications, the meta-learner by their policy gradients through the embedding, plus
 * a contrastive loss (an addition). Then the meta-learner is frozen and the base-learner trains
 * alone. The same request gives the same weights.
 */
export function trainMetaLearner(
  engine: Engine,
  apps: readonly AwareApp[],
  training: MetaTraining,
  onRound: (progress: MetaProgress) => void = () => {},
): MetaLearner {
  const { seed, ppo, applications, temperature, encoderRate, empty } = training;
  const root = new SeededRandom(seed);
  const encoder = Encoder.initial(training.encoder, root.fork('encoder'));
  const trainer = new EncoderTrainer(encoder);
  const { embedding } = training.encoder;
  const features = META_FEATURES.length + embedding;
  const shape = { features, actions: SIMPPO_ACTIONS.length };
  const total = training.rounds + training.baseRounds;
  const settings = { ...ppo, updates: total };
  const pair = newActorCritic(engine, shape, settings, root.fork('base'));
  try {
    const learner = new PpoLearner(pair, settings, root.fork('learner'));
    const random = root.fork('rounds');
    for (let round = 0; round < total; round++) {
      const together = round < training.rounds;
      const demands = Array.from({ length: applications }, () =>
        demandOf(apps[random.below(apps.length)]!, someCondition(random)),
      );
      // Two bundles of one episode each: by the fallback, or by the base-learner as it is.
      const unknown = new Float32Array(embedding);
      const someEpisode = (demand: Demand): Trajectory =>
        random.next() < 0.5
          ? fallbackTrajectory(demand, random)
          : baseEpisode(demand, unknown, pair, settings.gamma, random, null);
      const bundles = (empty === 1 ? [] : demands).flatMap((demand) =>
        together
          ? [[someEpisode(demand)], [someEpisode(demand)]]
          : [[someEpisode(demand), someEpisode(demand)]],
      );
      const pass = together ? trainer.pass(bundles) : null;
      const embeddings = pass?.embeddings ?? bundles.map((bundle) => encoder.embed(bundle));
      const rollout = new Rollout(applications * FLASH_EPISODE_STEPS, shape);
      const known = demands.map((demand, i) => {
        const blank = random.next() < empty;
        const one = blank ? unknown : embeddings[together ? 2 * i : i]!;
        baseEpisode(demand, one, pair, settings.gamma, random, rollout);
        return !blank;
      });
      let contrast: number | null = null;
      if (pass !== null) {
        const gradients = pass.embeddings.map((one) => new Float32Array(one.length));
        contrast = contrastive(pass.embeddings, temperature, 1, gradients);
        policyGradients(rollout, pair, embedding).forEach((one, i) => {
          if (known[i])
            one.forEach((value, k) => {
              gradients[2 * i]![k]! += value;
            });
        });
        pass.learn(gradients, encoderRate);
      }
      const { meanReward } = learner.update(rollout);
      onRound({ round, contrast, earned: meanReward });
    }
    return { encoder, base: learner.export(), shape, hidden: settings.hidden };
  } finally {
    pair.dispose();
  }
}

/**
 * Share of triplets in which two bundles of one application are more alike than one of them and one
 * of another application.
 */
export function tripletShare(
  encoder: Encoder,
  apps: readonly AwareApp[],
  {
    triplets,
    episodes,
    seed,
  }: { readonly triplets: number; readonly episodes: number; readonly seed: number },
): { readonly share: number; readonly triplets: number } {
  const random = new SeededRandom(seed).fork('triplets');
  const two = apps.map((app) => {
    const demand = demandOf(app);
    const bundle = (): Float32Array =>
      encoder.embed(Array.from({ length: episodes }, () => fallbackTrajectory(demand, random)));
    return [bundle(), bundle()] as const;
  });
  let right = 0;
  for (let i = 0; i < triplets; i++) {
    const a = random.below(apps.length);
    const b = (a + 1 + random.below(apps.length - 1)) % apps.length;
    const [anchor, same] = two[a]!;
    right += Number(cosine(anchor, same) > cosine(anchor, two[b]![random.below(2)]!));
  }
  return { share: right / triplets, triplets };
}
