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
import { type Interval, isBelow, mean, meanInterval } from '../statistics.js';
import { SURFACES, type Surface } from './surface.js';
import {
  bestThroughput,
  distanceToBest,
  greedyLimit,
  type Noise,
  runTrial,
  type Trial,
  type TrialPlan,
} from './trial.js';

/** Iterations until epsilon has reached its floor [Schuler], and those that are compared. */
export const LEARNED_AT = 510;
export const LATE = { from: 300, to: 600 } as const;
/** An iteration is bad where its limit brings less than this share of the best throughput. */
export const BAD_BELOW = 0.9;
/** A limit this near to a best one counts as found. */
export const NEAR = 20;
/**
 * Iterations that a learned table is followed without exploring; 15 steps lead from one end of the
 * grid to the other.
 */
const FOLLOWED = 40;

export const STUDY_NOISE: Noise = { throughput: 0.03, share: 0.02 };

type ContenderName = 'constant 100' | 'hill-climbing' | 'q-published' | 'q-learning';

interface Contender {
  readonly name: ContenderName;
  readonly search: LimitSearch;
  readonly grid: LimitGrid;
  /** Where it is after `LEARNED_AT` iterations. */
  settledLimit(plan: TrialPlan, trial: Trial): number;
}

const lastLimit = (_: TrialPlan, { limits }: Trial): number => limits.at(-1)!;

function learner(name: ContenderName, settings: typeof Q_PUBLISHED): Contender {
  return {
    name,
    search: qLearning(settings) as LimitSearch,
    grid: TUNER_DEFAULT.grid,
    settledLimit: (plan, { limits, learned }) =>
      greedyLimit(plan, learned as QLearningState, settings, limits.at(-1)!, FOLLOWED),
  };
}

const CONTENDERS: readonly Contender[] = [
  // Knative's default, which is none of the grid's.
  {
    name: 'constant 100',
    search: constantLimit as LimitSearch,
    grid: { least: 100, most: 100, step: 20 },
    settledLimit: lastLimit,
  },
  {
    name: 'hill-climbing',
    search: hillClimbing as LimitSearch,
    grid: TUNER_DEFAULT.grid,
    settledLimit: lastLimit,
  },
  learner('q-published', Q_PUBLISHED),
  learner('q-learning', Q_DEFAULT),
];

/** One contender on one surface, over all seeds; throughputs are shares of the best. */
export interface StudyRow {
  readonly surface: string;
  readonly start: number;
  readonly contender: ContenderName;
  /** Per seed: from where it is after 510 iterations to the nearest best limit. */
  readonly distances: readonly number[];
  /** Seeds within `NEAR` of a best limit. */
  readonly found: number;
  /** Mean over iterations 300 to 600, exploring as it does. */
  readonly late: Interval;
  /** Bad ones of the first 510 iterations, and of those from 300 on. */
  readonly bad: Interval;
  readonly lateBad: Interval;
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
  { name, search, grid, settledLimit }: Contender,
  surface: Surface,
  start: number,
  seeds: readonly number[],
  noise: Noise,
): StudyRow {
  // What is best is judged over the whole grid, also for who stays at one limit.
  const everywhere = TUNER_DEFAULT.grid;
  const best = bestThroughput(surface, everywhere);
  const distances: number[] = [];
  const late: number[] = [];
  const bad: number[] = [];
  const lateBad: number[] = [];
  for (const seed of seeds) {
    const plan = { surface, search, grid, start, noise, seed };
    // One seed, one trial: the shorter one is the longer one's beginning, with the table as it was
    // then.
    const learned = { ...plan, iterations: LEARNED_AT };
    distances.push(distanceToBest(surface, everywhere, settledLimit(learned, runTrial(learned))));
    const shares = runTrial({ ...plan, iterations: LATE.to }).limits.map(
      (limit) => surface.throughput(limit) / best,
    );
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
    distances,
    found: distances.filter((distance) => distance <= NEAR).length,
    late: meanInterval(late),
    bad: meanInterval(bad),
    lateBad: meanInterval(lateBad),
  };
}

/** The surfaces with goals; the others show the tuner's cost and its limits. */
export const JUDGED = ['optimum-70', 'optimum-10', 'plateau'] as const;

export interface StudyVerdict {
  readonly surface: string;
  readonly start: number;
  /** Within `NEAR` in at least 90 % of the seeds. */
  readonly finds: boolean;
  /** Mean throughput above constant 100's, told apart. */
  readonly beatsConstant: boolean;
  /** Fewer bad iterations than hill climbing, told apart: not asked for, but said. */
  readonly fewerBad: boolean;
}

export function studyVerdicts(rows: readonly StudyRow[]): StudyVerdict[] {
  return rows
    .filter(
      ({ contender, surface }) =>
        contender === 'q-learning' && JUDGED.some((name) => name === surface),
    )
    .map(({ surface, start, found, distances, late, bad }) => {
      const other = (contender: ContenderName): StudyRow =>
        rows.find(
          (row) => row.surface === surface && row.start === start && row.contender === contender,
        )!;
      return {
        surface,
        start,
        finds: found >= 0.9 * distances.length,
        beatsConstant: isBelow(other('constant 100').late, late),
        fewerBad: isBelow(bad, other('hill-climbing').bad),
      };
    });
}
