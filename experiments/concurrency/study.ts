import {
  constantLimit,
  hillClimbing,
  type LimitGrid,
  type LimitSearch,
  Q_DEFAULT,
  Q_PUBLISHED,
  type QLearningState,
  qLearning,
  TUNER_DEFAULT,
} from '../../agents/tuning/index.js';
import { type Interval, isChanged, mean, meanInterval, pairedWith } from '../statistics.js';
import { SURFACES, type Surface } from './surface.js';
import { bestThroughput, greedyLimits, type Noise, runTrial, type TrialPlan } from './trial.js';

/** Iterations until epsilon has reached its floor [Schuler], and those that are compared. */
export const LEARNED_AT = 510;
export const LATE = { from: 300, to: 600 } as const;
/** An iteration is bad where its limit brings less than this share of the best throughput. */
export const BAD_BELOW = 0.9;
/**
 * Iterations that a search goes on without exploring; 15 steps lead from one end of the grid to the
 * other. What counts are the last ones, more than a swing of hill climbing.
 */
const FOLLOWED = 40;
export const COUNTED = 20;

export const STUDY_NOISE: Noise = { throughput: 0.03, share: 0.02 };

type ContenderName = 'constant 100' | 'hill-climbing' | 'q-published' | 'q-learning';

interface Contender {
  readonly name: ContenderName;
  readonly search: LimitSearch;
  readonly grid: LimitGrid;
  /** Limits of `FOLLOWED` iterations after `LEARNED_AT`, without exploring. */
  settledLimits(plan: TrialPlan): readonly number[];
}

/** Searches that do not explore at random go on as they are. */
const goOn = (plan: TrialPlan): readonly number[] =>
  runTrial({ ...plan, iterations: LEARNED_AT + FOLLOWED }).limits.slice(LEARNED_AT);

function learner(name: ContenderName, settings: typeof Q_PUBLISHED): Contender {
  return {
    name,
    search: qLearning(settings) as LimitSearch,
    grid: TUNER_DEFAULT.grid,
    settledLimits: (plan) => {
      const { limits, learned } = runTrial({ ...plan, iterations: LEARNED_AT });
      return greedyLimits(plan, learned as QLearningState, settings, limits.at(-1)!, FOLLOWED);
    },
  };
}

const CONTENDERS: readonly Contender[] = [
  // Knative's default, which is none of the grid's.
  {
    name: 'constant 100',
    search: constantLimit as LimitSearch,
    grid: { least: 100, most: 100, step: 20 },
    settledLimits: goOn,
  },
  {
    name: 'hill-climbing',
    search: hillClimbing as LimitSearch,
    grid: TUNER_DEFAULT.grid,
    settledLimits: goOn,
  },
  learner('q-published', Q_PUBLISHED),
  learner('q-learning', Q_DEFAULT),
];

/** One contender on one surface, over all seeds; throughputs are shares of the best. */
export interface StudyRow {
  readonly surface: string;
  readonly start: number;
  readonly contender: ContenderName;
  /** Per seed: mean of the last `COUNTED` iterations without exploring. */
  readonly settled: readonly number[];
  /** Seeds in which that is no bad throughput. */
  readonly found: number;
  /** Mean over iterations 300 to 600, exploring as it does. */
  readonly late: Interval;
  /** Bad ones of the first 510 iterations, and of those from 300 on. */
  readonly bad: Interval;
  readonly lateBad: Interval;
  /** In the order of the seeds, which all contenders share. */
  readonly bySeed: Readonly<Record<'late' | 'bad', readonly number[]>>;
}

export interface StudyRequest {
  readonly seeds: readonly number[];
  readonly starts: readonly number[];
  readonly surfaces?: readonly Surface[];
  readonly noise?: Noise;
}

/** Every contender on every surface from every start. The same request, the same rows. */
export function concurrencyStudy({
  seeds,
  starts,
  surfaces = SURFACES,
  noise = STUDY_NOISE,
}: StudyRequest): StudyRow[] {
  return starts.flatMap((start) =>
    surfaces.flatMap((surface) =>
      CONTENDERS.map((contender) => studyRow(contender, surface, start, seeds, noise)),
    ),
  );
}

function studyRow(
  { name, search, grid, settledLimits }: Contender,
  surface: Surface,
  start: number,
  seeds: readonly number[],
  noise: Noise,
): StudyRow {
  // What is best is judged over the whole grid, also for who stays at one limit.
  const everywhere = TUNER_DEFAULT.grid;
  const best = bestThroughput(surface, everywhere);
  const settled: number[] = [];
  const late: number[] = [];
  const bad: number[] = [];
  const lateBad: number[] = [];
  for (const seed of seeds) {
    const plan = { surface, search, grid, start, noise, seed, iterations: LATE.to };
    const shareOf = (limit: number): number => surface.throughput(limit) / best;
    settled.push(mean(settledLimits(plan).slice(-COUNTED).map(shareOf)));
    const shares = runTrial(plan).limits.map(shareOf);
    const badOf = (from: number): number =>
      shares.slice(from, LEARNED_AT).filter((share) => share < BAD_BELOW).length;
    late.push(mean(shares.slice(LATE.from, LATE.to)));
    bad.push(badOf(0));
    lateBad.push(badOf(LATE.from));
  }
  return {
    surface: surface.name,
    start,
    contender: name,
    settled,
    found: settled.filter((share) => share >= BAD_BELOW).length,
    late: meanInterval(late),
    bad: meanInterval(bad),
    lateBad: meanInterval(lateBad),
    bySeed: { late, bad },
  };
}

/** The surfaces with goals; the others show the tuner's cost and its limits. */
export const JUDGED = ['optimum-70', 'optimum-10', 'plateau'] as const;

export interface StudyVerdict {
  readonly surface: string;
  readonly start: number;
  /** Found in at least 90 % of the seeds. */
  readonly finds: boolean;
  /** Late throughput above constant 100's, told apart by seed. */
  readonly beatsConstant: boolean;
  /** Fewer bad iterations than hill climbing, told apart by seed: not asked for, but said. */
  readonly fewerBad: boolean;
}

const isLess = (values: readonly number[], others: readonly number[]): boolean => {
  const change = pairedWith(values, others, Number.POSITIVE_INFINITY);
  return change.difference.mean < 0 && isChanged(change);
};

export function studyVerdicts(rows: readonly StudyRow[]): StudyVerdict[] {
  return rows
    .filter(
      ({ contender, surface }) =>
        contender === 'q-learning' && JUDGED.some((name) => name === surface),
    )
    .map(({ surface, start, found, settled, bySeed }) => {
      const other = (contender: ContenderName): StudyRow =>
        rows.find(
          (row) => row.surface === surface && row.start === start && row.contender === contender,
        )!;
      return {
        surface,
        start,
        finds: found >= 0.9 * settled.length,
        beatsConstant: isLess(other('constant 100').bySeed.late, bySeed.late),
        fewerBad: isLess(bySeed.bad, other('hill-climbing').bySeed.bad),
      };
    });
}
