import { bootstrapMean, type Interval } from '../compare/index.js';
import { FLOORS, type FloorName } from './floors.js';
import { floorsKey, growthKey, ISOLATED, learnerKey, type PieceStore } from './pieces.js';
import {
  CONTENDED,
  PUBLISHED,
  type Setting,
  type StudySize,
  type VariantName,
} from './protocol.js';
import type { ContenderScore } from './scores.js';

export type ContenderName = FloorName | VariantName;

/** What contenders are compared by; violations are shares of calls. */
const MEASURES = [
  'reward',
  'violations',
  'sloPreservation',
  'cpuUse',
  'memoryUse',
  'violatedSteps',
  'occupancy',
] as const satisfies readonly (keyof ContenderScore)[];
type Measure = (typeof MEASURES)[number];

/** A contender over the seeds that it was run with. */
export interface Line {
  readonly contender: ContenderName;
  readonly seeds: number;
  readonly of: Readonly<Record<Measure, Interval>>;
}

/** Is `simppo` better in both, with intervals that do not touch? */
export interface Verdict {
  readonly against: ContenderName;
  readonly reward: boolean;
  readonly violations: boolean;
}

/** Those that line 5(a) names; `static` and `ensure` stand beside them. */
const BASELINES = [
  'do-nothing',
  'random',
  'hpa-vpa',
  'kpa',
  'single-agent',
] as const satisfies readonly ContenderName[];

const isFloor = (name: ContenderName): name is FloorName => FLOORS.some((one) => one === name);

/** Scores of a contender by seed; what was not run is left out. */
export function scoresOf(
  store: PieceStore,
  contender: ContenderName,
  setting: Setting,
  { seeds }: StudySize,
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

export function lineOf(
  store: PieceStore,
  contender: ContenderName,
  setting: Setting,
  size: StudySize,
): Line | null {
  const scores = scoresOf(store, contender, setting, size);
  if (scores.length === 0) return null;
  const of = Object.fromEntries(
    MEASURES.map((measure) => [measure, bootstrapMean(scores.map(({ score }) => score[measure]))]),
  ) as Record<Measure, Interval>;
  return { contender, seeds: scores.length, of };
}

/**
 * Line 5(a): in the contended setting, reward and violations, intervals apart. Null: `simppo` or
 * the other was not run.
 */
export function verdictsOf(
  store: PieceStore,
  size: StudySize,
  setting: Setting = CONTENDED,
): Verdict[] {
  const ours = lineOf(store, 'simppo', setting, size);
  if (ours === null) return [];
  return BASELINES.flatMap((against) => {
    const theirs = lineOf(store, against, setting, size);
    if (theirs === null) return [];
    return [
      {
        against,
        reward: ours.of.reward.low > theirs.of.reward.high,
        violations: ours.of.violations.high < theirs.of.violations.low,
      },
    ];
  });
}

/** p99 of functions on a shared cluster relative to isolated agents, as published [SIMPPO]. */
export interface Degradation {
  readonly contender: ContenderName;
  /** (p99 - isolated p99) / isolated p99: mean and largest over functions. */
  readonly mean: Interval;
  readonly largest: Interval;
  /** Its p99 / that of `simppo`, mean over functions. */
  readonly ratio: Interval;
}

export function degradations(store: PieceStore, size: StudySize): Degradation[] {
  const alone = new Map(
    scoresOf(store, 'single-agent', ISOLATED, size).map(
      ({ seed, score }) => [seed, score.functions] as const,
    ),
  );
  const ours = new Map(
    scoresOf(store, 'simppo', PUBLISHED, size).map(
      ({ seed, score }) => [seed, score.functions] as const,
    ),
  );
  const names: ContenderName[] = ['simppo', 'single-agent', ...FLOORS];
  return names.flatMap((contender) => {
    const scores = scoresOf(store, contender, PUBLISHED, size).filter(
      ({ seed }) => alone.has(seed) && ours.has(seed),
    );
    if (scores.length === 0) return [];
    const byFunction = scores.map(({ seed, score }) =>
      score.functions.map(({ p99 }, i) => p99 / alone.get(seed)![i]!.p99 - 1),
    );
    const average = (values: readonly number[]): number =>
      values.reduce((sum, one) => sum + one, 0) / values.length;
    return [
      {
        contender,
        mean: bootstrapMean(byFunction.map(average)),
        largest: bootstrapMean(byFunction.map((values) => Math.max(...values))),
        ratio: bootstrapMean(
          scores.map(({ seed, score }) =>
            average(score.functions.map(({ p99 }, i) => p99 / ours.get(seed)![i]!.p99)),
          ),
        ),
      },
    ];
  });
}

/** A stage of the growth over the seeds that were run. */
export interface GrowthLine {
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

export function growthLines(store: PieceStore, { seeds, growth }: StudySize): GrowthLine[] {
  const runs = seeds.filter((seed) => store.has(growthKey(seed))).map((seed) => store.growth(seed));
  if (runs.length === 0) return [];
  return growth.slice(1).map((functions, index) => {
    const stages = runs.map((run) => run[index]!);
    const over = (of: (stage: (typeof stages)[number]) => number): Interval =>
      bootstrapMean(stages.map(of));
    return {
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
          const some = curve.slice(
            from,
            Math.max(from + 1, Math.floor(((quarter + 1) * curve.length) / QUARTERS)),
          );
          return some.reduce((sum, one) => sum + one, 0) / some.length;
        });
        return parts.reduce((sum, one) => sum + one, 0) / parts.length;
      }),
    };
  });
}

/** Everything that the report shows, as data. */
export const simppoFigures = (store: PieceStore, size: StudySize) => ({
  verdicts: verdictsOf(store, size),
  contended: [...BASELINES, 'simppo' as const].flatMap(
    (name) => lineOf(store, name, CONTENDED, size) ?? [],
  ),
  degradations: degradations(store, size),
  growth: growthLines(store, size),
});

/** What line 5(a) asks for and was not reached. */
export const simppoMissed = (store: PieceStore, size: StudySize): string[] =>
  verdictsOf(store, size).flatMap(({ against, reward, violations }) => [
    ...(reward ? [] : [`not more reward than ${against}, intervals apart`]),
    ...(violations ? [] : [`not fewer violations than ${against}, intervals apart`]),
  ]);
