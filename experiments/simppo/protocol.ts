import type { Part } from '../../simulator/workload/index.js';
import {
  azureShapes,
  type Contention,
  drawEpisode,
  type Episode,
  kneeObjective,
  profileFunctions,
  type ScaledFunction,
  type ScalingAgentSettings,
  ScalingCluster,
  scalingSettings,
} from '../autoscaling/index.js';

/**
 * Length of a step [SIMPPO]; cores per function; steps before the first one that counts, as long as
 * HPA's stabilization of five minutes.
 */
const STEP_MS = 10_000;
export const CORES_PER_FUNCTION = 2;
export const WARM_UP = 30;

/** How much of the study is run. */
export interface StudySize {
  readonly seeds: readonly number[];
  readonly functions: number;
  /** Episodes of training, and their steps. */
  readonly episodes: number;
  readonly steps: number;
  /** Held-out episodes a seed, and their steps with the warm-up. */
  readonly judged: number;
  readonly judgedSteps: number;
  /** Functions at each stage of the growth; the first is trained from nothing. */
  readonly growth: readonly number[];
  /** Retraining episodes of a stage at most. */
  readonly maxRetraining: number;
}

export const FULL: StudySize = {
  seeds: [1, 2, 3, 4, 5],
  functions: 12,
  episodes: 200,
  steps: 100,
  judged: 4,
  judgedSteps: 130,
  growth: [3, 5, 10, 20, 50, 110],
  maxRetraining: 60,
};

export const QUICK: StudySize = {
  ...FULL,
  seeds: [1, 2],
  functions: 6,
  episodes: 80,
  judged: 2,
  judgedSteps: 80,
  growth: [3, 5, 8],
  maxRetraining: 30,
};

/** Loads at which contenders are compared; 0.5 is the published one [AWARE artifact]. */
export interface Setting {
  readonly load: number;
  readonly contention: Contention;
}
export const CONTENDED: Setting = { load: 0.8, contention: 'reserved' };
export const PUBLISHED: Setting = { load: 0.5, contention: 'reserved' };
export const KERNEL: Setting = { load: 0.8, contention: 'busy' };
export const settingName = ({ load, contention }: Setting): string => `${load}-${contention}`;

const { reward } = scalingSettings;
const unpriced = { ...reward, price: 0 };

/**
 * Agents that learn. All but what is named is the same: features, PPO, episodes, seeds, what they
 * start from.
 */
export const VARIANTS = {
  simppo: scalingSettings,
  'single-agent': { ...scalingSettings, virtual: 'none', reward: unpriced },
  none: { ...scalingSettings, virtual: 'none' },
  g4: { ...scalingSettings, virtual: 'g4' },
  'no-price': { ...scalingSettings, reward: unpriced },
  'idle-price': { ...scalingSettings, priceBy: 'idle' },
} as const satisfies Record<string, ScalingAgentSettings>;
export type VariantName = keyof typeof VARIANTS;

/** One cluster to learn in and one to be judged in. */
export interface Arena {
  readonly functions: readonly ScaledFunction[];
  readonly learning: ScalingCluster;
  readonly judging: ScalingCluster;
  learningEpisode(seed: number): Episode;
  judgedEpisode(part: Part, seed: number): Episode;
}

export function environmentOf(
  functions: number,
  { load, contention }: Setting,
  { steps, judgedSteps }: StudySize,
): Arena {
  const of = profileFunctions(functions);
  const cores = CORES_PER_FUNCTION * functions;
  const slos = of.map(kneeObjective);
  const cluster = (count: number): ScalingCluster =>
    new ScalingCluster({ functions: of, cores, contention, slos, stepMs: STEP_MS, steps: count });
  const episode = (part: Part, count: number, seed: number): Episode =>
    drawEpisode(
      { functions: of, shapes: azureShapes(part), load, cores, spanMs: count * STEP_MS },
      seed,
    );
  return {
    functions: of,
    learning: cluster(steps),
    judging: cluster(judgedSteps),
    learningEpisode: (seed) => episode('train', steps, seed),
    judgedEpisode: (part, seed) => episode(part, judgedSteps, seed),
  };
}

/**
 * Seeds of episodes: those of training, of tuning and of tests are never the same, and neither are
 * their traces.
 */
export const trainingSeed = (seed: number, episode: number): number => 100_000 * seed + episode;
export const tuningSeed = (episode: number): number => 9_000_000 + episode;
export const testSeed = (seed: number, episode: number): number =>
  5_000_000 + 1000 * seed + episode;
