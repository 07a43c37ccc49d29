import type { PpoSettings } from '../../agents/ppo/index.js';
import type { Part } from '../../simulator/workload/index.js';
import {
  azureShapes,
  type Contention,
  drawEpisode,
  type EpisodeArrivals,
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
  seeds: [1, 2, 3, 4, 5, 11, 12, 13, 14, 15],
  functions: 12,
  episodes: 600,
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

/**
 * What agents learn with under each law, chosen on seed 101 and traces of `validation`. A reserved
 * limit takes cores from others, an idle one under `busy` does not. A queue that has grown under
 * `reserved` drains only over minutes, so agents look further ahead and explore longer.
 */
const LAWS: Readonly<Record<Contention, LawSettings>> = {
  reserved: { price: 0.3, ppo: { gamma: 0.95, entropy: { first: 0.03, last: 0.001 } } },
  busy: { price: 0.03, ppo: {} },
  alone: { price: 0, ppo: {} },
};
interface LawSettings {
  /** Weight of the congestion price. */
  readonly price: number;
  readonly ppo: Partial<Pick<PpoSettings, 'gamma' | 'entropy'>>;
}

type Variant = Partial<Pick<ScalingAgentSettings, 'virtual' | 'priceBy'>> & {
  readonly isPriced?: boolean;
};

/**
 * Agents that learn. All but what is named is the same: features, PPO, episodes, seeds, what they
 * start from. `price-alone` is charged as `simppo` is, and sees nothing of others.
 */
const VARIANTS = {
  simppo: {},
  'price-alone': { virtual: 'none' },
  'single-agent': { virtual: 'none', isPriced: false },
  g4: { virtual: 'g4' },
  'no-price': { isPriced: false },
  'idle-price': { priceBy: 'idle' },
} as const satisfies Record<string, Variant>;
export type VariantName = keyof typeof VARIANTS;

export function settingsOf(variant: VariantName, { contention }: Setting): ScalingAgentSettings {
  const { isPriced = true, ...changes }: Variant = VARIANTS[variant];
  const law = LAWS[contention];
  const price = isPriced ? law.price : 0;
  return {
    ...scalingSettings,
    ...changes,
    reward: { ...scalingSettings.reward, price },
    ppo: { ...scalingSettings.ppo, ...law.ppo },
  };
}

/** One cluster to learn in, one to be judged in, and one where each function is judged alone. */
export interface Arena {
  readonly functions: readonly ScaledFunction[];
  readonly learning: ScalingCluster;
  readonly judging: ScalingCluster;
  readonly alone: ScalingCluster;
  learningEpisode(seed: number): EpisodeArrivals;
  judgedEpisode(part: Part, seed: number): EpisodeArrivals;
}

export function environmentOf(
  functions: number,
  { load, contention }: Setting,
  { steps, judgedSteps }: StudySize,
): Arena {
  const of = profileFunctions(functions);
  const cores = CORES_PER_FUNCTION * functions;
  const slos = of.map(kneeObjective);
  const cluster = (count: number, law: Contention): ScalingCluster =>
    new ScalingCluster({
      functions: of,
      cores,
      contention: law,
      slos,
      stepMs: STEP_MS,
      steps: count,
    });
  const episode = (part: Part, count: number, seed: number): EpisodeArrivals =>
    drawEpisode(
      { functions: of, shapes: azureShapes(part), load, cores, spanMs: count * STEP_MS },
      seed,
    );
  return {
    functions: of,
    learning: cluster(steps, contention),
    judging: cluster(judgedSteps, contention),
    alone: cluster(judgedSteps, 'alone'),
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
