import { type Interval, isBelow, mean, meanInterval, median } from '../statistics.js';
import { type FloorName, SCALING_FLOORS } from './floors.js';
import { GROWING, type GrowingVariant } from './growth.js';
import { floorsKey, growthKey, learnerKey, type PieceStore } from './pieces.js';
import {
  CONTENDED,
  KERNEL,
  PUBLISHED,
  type Setting,
  type StudySize,
  settingName,
  type VariantName,
} from './protocol.js';
import type { ContenderScore } from './scores.js';

export type ContenderName = FloorName | VariantName;

/** What contenders are compared by; violations are shares of activations. */
const MEASURES = [
  'reward',
  'violations',
  'sloPreservation',
  'cpuUse',
  'memoryUse',
  'violatedSteps',
  'occupancy',
  'rewardOfRequests',
] as const satisfies readonly (keyof ContenderScore)[];
type Measure = (typeof MEASURES)[number];

/** A contender over the seeds that it was run with. */
export interface Line {
  readonly contender: ContenderName;
  readonly seeds: number;
  readonly of: Readonly<Record<Measure, Interval>>;
}

/** Is `simppo` better in both, told apart? */
export interface Verdict {
  readonly against: ContenderName;
  readonly reward: boolean;
  readonly violations: boolean;
}

/** Those that `simppo` must beat; the others stand beside them. */
export const BASELINES = [
  'do-nothing',
  'static',
  'hpa-vpa',
  'kpa',
  'price-alone',
  'single-agent',
] as const satisfies readonly ContenderName[];

const isFloor = (name: ContenderName): name is FloorName =>
  SCALING_FLOORS.some((one) => one === name);

/** Scores of a contender by seed; what was not run is left out. */
export function scoresOf(
  store: PieceStore,
  contender: ContenderName,
  setting: Setting,
  { seeds }: Pick<StudySize, 'seeds'>,
): { seed: number; score: ContenderScore }[] {
  return seeds.flatMap((seed) => {
    if (isFloor(contender))
      return store.has(floorsKey(setting, seed))
        ? [{ seed, score: store.floors(setting, seed)[contender]! }]
        : [];
    if (!store.has(learnerKey(contender, setting, seed))) return [];
    return [{ seed, score: store.learner(contender, setting, seed).score }];
  });
}

/** Runs of consecutive seeds, shown apart: of some, figures had been published before. */
export function seedGroups(seeds: readonly number[]): number[][] {
  const groups: number[][] = [];
  for (const seed of seeds) {
    const last = groups.at(-1);
    if (last !== undefined && last.at(-1) === seed - 1) last.push(seed);
    else groups.push([seed]);
  }
  return groups;
}

export function lineOf(
  store: PieceStore,
  contender: ContenderName,
  setting: Setting,
  size: Pick<StudySize, 'seeds'>,
): Line | null {
  const scores = scoresOf(store, contender, setting, size);
  if (scores.length === 0) return null;
  const of = Object.fromEntries(
    MEASURES.map((measure) => [measure, meanInterval(scores.map(({ score }) => score[measure]))]),
  ) as Record<Measure, Interval>;
  return { contender, seeds: scores.length, of };
}

/**
 * Reward and violations, intervals apart, of the seeds that both were run with; who was not run is
 * left out.
 */
export function verdictsOf(store: PieceStore, size: StudySize, setting: Setting): Verdict[] {
  const seedsOf = (name: ContenderName): number[] =>
    scoresOf(store, name, setting, size).map(({ seed }) => seed);
  const own = seedsOf('simppo');
  return BASELINES.flatMap((against) => {
    const theirs = seedsOf(against);
    const shared = { seeds: own.filter((seed) => theirs.includes(seed)) };
    const [ours, others] = (['simppo', against] as const).map((name) =>
      lineOf(store, name, setting, shared),
    );
    if (!ours || !others) return [];
    return [
      {
        against,
        reward: isBelow(others.of.reward, ours.of.reward),
        violations: isBelow(ours.of.violations, others.of.violations),
      },
    ];
  });
}

/** p99 of functions that share the cores against the same policies with all cores for each. */
export interface Degradation {
  readonly contender: VariantName;
  /** (p99 - p99 alone) / p99 alone: median, mean and largest over functions. */
  readonly median: Interval;
  readonly mean: Interval;
  readonly largest: Interval;
  /** Its p99 / that of `simppo`, mean over functions. */
  readonly ratio: Interval;
}

export const degradations = (
  store: PieceStore,
  { seeds }: StudySize,
  setting: Setting,
): Degradation[] =>
  (['simppo', 'price-alone', 'single-agent'] as const).flatMap((contender) => {
    const has = (name: VariantName, seed: number): boolean =>
      store.has(learnerKey(name, setting, seed));
    const runs = seeds
      .filter((seed) => has(contender, seed) && has('simppo', seed))
      .map((seed) => ({
        ...store.learner(contender, setting, seed),
        ours: store.learner('simppo', setting, seed).score.functions,
      }));
    if (runs.length === 0) return [];
    const byFunction = runs.map(({ score, alone }) =>
      score.functions.map(({ p99 }, i) => p99 / alone.functions[i]!.p99 - 1),
    );
    return [
      {
        contender,
        median: meanInterval(byFunction.map(median)),
        mean: meanInterval(byFunction.map(mean)),
        largest: meanInterval(byFunction.map((values) => Math.max(...values))),
        ratio: meanInterval(
          runs.map(({ score, ours }) =>
            mean(score.functions.map(({ p99 }, i) => p99 / ours[i]!.p99)),
          ),
        ),
      },
    ];
  });

/** A stage of the growth over the seeds that were run. */
export interface GrowthLine {
  readonly variant: GrowingVariant;
  readonly functions: number;
  readonly seeds: number;
  /** Drop of the old functions' reward as a share of what it was. */
  readonly dropAtOnce: Interval;
  readonly drop: Interval;
  readonly episodes: Interval;
  readonly tripped: Interval;
  readonly unsettled: Interval;
  readonly newAtOnce: Interval;
  readonly newAfter: Interval;
  /** Mean learning reward of all over each quarter of the retraining. */
  readonly curve: readonly number[];
}

const QUARTERS = 4;

export const growthLines = (store: PieceStore, size: StudySize): GrowthLine[] =>
  GROWING.flatMap((variant) => growthOf(store, variant, size));

function growthOf(
  store: PieceStore,
  variant: GrowingVariant,
  { seeds, growth }: StudySize,
): GrowthLine[] {
  const runs = seeds
    .filter((seed) => store.has(growthKey(variant, seed)))
    .map((seed) => store.growth(variant, seed));
  if (runs.length === 0) return [];
  return growth.slice(1).map((functions, index) => {
    const stages = runs.map((run) => run[index]!);
    const over = (of: (stage: (typeof stages)[number]) => number): Interval =>
      meanInterval(stages.map(of));
    return {
      variant,
      functions,
      seeds: runs.length,
      dropAtOnce: over(({ before, atOnce }) => (before - atOnce) / before),
      drop: over(({ before, after }) => (before - after) / before),
      episodes: over(({ retrainingEpisodes }) => retrainingEpisodes),
      tripped: over(({ tripped, functions: all, added }) => tripped / (all - added)),
      unsettled: over(({ unsettled }) => unsettled),
      newAtOnce: over(({ newAtOnce }) => newAtOnce),
      newAfter: over(({ newAfter }) => newAfter),
      curve: Array.from({ length: QUARTERS }, (_, quarter) => {
        const parts = stages.map(({ curve }) => {
          const from = Math.floor((quarter * curve.length) / QUARTERS);
          const to = Math.floor(((quarter + 1) * curve.length) / QUARTERS);
          return mean(curve.slice(from, Math.max(from + 1, to)));
        });
        return mean(parts);
      }),
    };
  });
}

/** Settings with goals: load .8 under both laws. */
const HEADLINE = [CONTENDED, KERNEL] as const;

/** Everything that the report shows, as data. */
export const simppoFigures = (store: PieceStore, size: StudySize) => ({
  settings: HEADLINE.map((setting) => ({
    ...setting,
    verdicts: verdictsOf(store, size, setting),
    lines: [...BASELINES, 'simppo' as const].flatMap(
      (name) => lineOf(store, name, setting, size) ?? [],
    ),
    degradations: degradations(store, size, setting),
  })),
  published: degradations(store, size, PUBLISHED),
  growth: growthLines(store, size),
});

/** Where `simppo` is not better with intervals apart. */
export const simppoMissed = (store: PieceStore, size: StudySize): string[] =>
  HEADLINE.flatMap((setting) =>
    verdictsOf(store, size, setting).flatMap(({ against, reward, violations }) => [
      ...(reward ? [] : [`${settingName(setting)}: not more reward than ${against}`]),
      ...(violations ? [] : [`${settingName(setting)}: not fewer violations than ${against}`]),
    ]),
  );
