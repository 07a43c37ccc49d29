import {
  FaasrmLearner,
  type FaasrmSettings,
  faasrmParameters,
  faasrmSettings,
  faasrmWeights,
} from '../../agents/faasrm/index.js';
import { InlineTrainer, type LearnerState, type PpoMetrics } from '../../agents/ppo/index.js';
import { threadEngine } from '../../agents/simppo/index.js';
import type { FaasrmExperience } from '../../broker/messages/index.js';
import { ACTOR_WEIGHTS, experienceOf } from '../../openwhisk-plugin/decision/index.js';
import { LEVELS } from '../../rules/index.js';
import {
  type SimulatedSettings,
  simulateCluster,
  simulatedOptions,
} from '../../simulator/engine/index.js';
import { playPublished, readPublishedSample } from '../../simulator/freyr-2021/index.js';
import { activationStream, openWorkload, type Part } from '../../simulator/workload/index.js';
import { type EpisodeResult, type Place, shapeOf, type TrainingHosts } from './training.js';

/**
 * What the weights of `faasrm` are learned on: hooks with quotas on the cluster model, or the
 * published simulator's rules.
 */
type FaasrmTraining =
  | {
      readonly on: 'cluster';
      readonly places: readonly Place[];
      readonly part: Part;
      readonly loads: readonly number[];
      readonly hosts: TrainingHosts;
      readonly settings?: SimulatedSettings;
    }
  | { readonly on: 'freyr-2021'; readonly workload: string };

export interface FaasrmPlan {
  readonly training: FaasrmTraining;
  readonly episodes: number;
  readonly seed: number;
  readonly resume: { readonly state: LearnerState; readonly episode: number } | null;
}

/** Activations of an episode on the cluster: some 4800 of them are drawn choices. */
const ACTIVATIONS = 12_000;
/** Rows of the published sample that are learned on; what is reported are the first ones. */
const PUBLISHED_FROM = 500;
const PUBLISHED_FUNCTIONS = 50;

/**
 * On the cluster memory is its users' (`guarantee`), so eight options are left. One update an
 * episode.
 */
export function faasrmTrainingSettings({
  training,
  episodes,
}: Pick<FaasrmPlan, 'training' | 'episodes'>): FaasrmSettings {
  const cluster = training.on === 'cluster';
  return {
    ...faasrmSettings,
    options: cluster ? LEVELS : LEVELS * LEVELS,
    rollout: cluster ? 4096 : 2048,
    // In the published simulator a grant costs other activations nothing.
    price: cluster ? faasrmSettings.price : 0,
    ppo: { ...faasrmSettings.ppo, updates: episodes },
  };
}

/**
 * Trains the option-scoring network, one run per episode: settings alternate, seeds count up, and
 * an episode uses one version of the weights. The same plan gives the same weights, resumed or not.
 */
export function* trainFaasrm(
  plan: FaasrmPlan,
): Generator<{ readonly result: EpisodeResult; readonly state: LearnerState }> {
  const settings = faasrmTrainingSettings(plan);
  const trainer = new InlineTrainer(threadEngine());
  const learner = new FaasrmLearner({
    settings,
    seed: plan.seed,
    trainer,
    state: plan.resume?.state,
  });
  for (let episode = plan.resume?.episode ?? 0; episode < plan.episodes; episode++) {
    const seed = plan.seed + episode;
    const experiences: FaasrmExperience[] = [];
    const setting = play(plan.training, episode, seed, learner, experiences);
    for (const experience of experiences) if (!learner.ready) learner.take(experience);
    let updateMetrics: PpoMetrics | null = null;
    if (learner.experiences > 0)
      learner.update((metrics) => {
        updateMetrics = metrics;
      });
    yield {
      result: resultOf(episode, setting, seed, experiences.length, learner, updateMetrics),
      state: learner.state,
    };
  }
}

function play(
  training: FaasrmTraining,
  episode: number,
  seed: number,
  { state, version }: FaasrmLearner,
  into: FaasrmExperience[],
): string {
  if (training.on === 'freyr-2021') {
    const { workload } = training;
    const sample = readPublishedSample(workload, PUBLISHED_FUNCTIONS, PUBLISHED_FROM);
    const actor = state.actor.slice(0, ACTOR_WEIGHTS);
    playPublished(sample, {
      manager: {
        actor,
        version,
        experiences: (choice, rfet, fn) => into.push(experienceOf(choice, rfet, `/guest/${fn}`)),
      },
      seed,
    });
    return `${workload} freyr-2021`;
  }
  const { places, loads, part } = training;
  const turns = places.flatMap((place) => loads.map((load) => ({ ...place, load })));
  const turn = turns[episode % turns.length]!;
  const { workload, hosts, load } = turn;
  const shape = shapeOf(turn, training.hosts);
  const loaded = openWorkload(workload, {
    seed,
    part,
    partBy: 'time',
    load: { load, cores: hosts * shape.cores },
  });
  simulateCluster({
    activations: activationStream(loaded, { seed, activations: ACTIVATIONS }),
    cluster: shape,
    mode: 'quota',
    ...simulatedOptions(training.settings),
    quotaPolicy: 'faasrm',
    quotaParameters: { parameters: faasrmParameters(version, true), weights: faasrmWeights(state) },
    experiences: (choice, slowdown, { action }) =>
      into.push(experienceOf(choice, slowdown, action)),
    seed,
  });
  return `${workload}@${hosts} quota ${load}`;
}

function resultOf(
  episode: number,
  setting: string,
  seed: number,
  steps: number,
  { version }: FaasrmLearner,
  metrics: PpoMetrics | null,
): EpisodeResult {
  const { meanReward = Number.NaN, entropy = Number.NaN, approxKl = Number.NaN } = metrics ?? {};
  const explainedVariance = metrics?.explainedVariance ?? Number.NaN;
  return {
    episode,
    setting,
    seed,
    steps,
    reward: meanReward,
    updates: version,
    entropy,
    approxKl,
    explainedVariance,
  };
}
