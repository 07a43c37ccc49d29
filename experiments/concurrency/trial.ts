import {
  concurrencyTuner,
  greedyAction,
  gridSize,
  type LimitGrid,
  type LimitSearch,
  limitAt,
  nearestPlace,
  type QLearningSettings,
  type QLearningState,
  type Sample,
  stateKey,
  stepMask,
  TUNER_DEFAULT,
  type TunerState,
} from '../../agents/tuning/index.js';
import { type Millis, type Random, SeededRandom, standardNormal } from '../../config/index.js';
import type { Surface } from './surface.js';

/** Spread of a measured throughput and of measured shares; 30 s of a steady load. */
export interface Noise {
  /** Standard deviation over the value. */
  readonly throughput: number;
  /** Standard deviation, absolute. */
  readonly share: number;
}

export interface TrialPlan {
  readonly surface: Surface;
  readonly search: LimitSearch;
  readonly grid: LimitGrid;
  readonly start: number;
  readonly iterations: number;
  readonly noise: Noise;
  readonly seed: number;
}

export interface Trial {
  /** The limit held in each iteration, the first being 0. */
  readonly limits: readonly number[];
  /** Of the search after the last iteration. */
  readonly learned: unknown;
}

/**
 * One step of 30 s a call; the first after a change only settles
 * (agents/tuning/concurrency/tuner.ts).
 */
const STEP = 30_000;

/** Plays a tuner, slow clock and all, on a surface; one seed, one trial. */
export function runTrial({
  surface,
  search,
  grid,
  start,
  iterations,
  noise,
  seed,
}: TrialPlan): Trial {
  const world = new SeededRandom(seed);
  const measuring = world.fork(`noise ${surface.name}`);
  const choosing = world.fork(`choices ${surface.name}`);
  const tuner = concurrencyTuner(search, { ...TUNER_DEFAULT, grid });
  const limits: number[] = [];
  let state: TunerState = tuner.initialState();
  let limit = start;
  // Two steps an iteration at most, and two that bring the first limit into the grid.
  for (let step = 1; limits.length < iterations && step <= 2 * iterations + 2; step++) {
    const sample = sampleAt(surface, limit, noise, measuring);
    const next = tuner.decide(
      state,
      { sample, allowed: grid, frozen: false },
      (step * STEP) as Millis,
      choosing,
    );
    if (next.decision.reason === 'searched') limits.push(limit);
    state = next.state;
    limit = next.decision.limit;
  }
  return { limits, learned: state.search };
}

function sampleAt(surface: Surface, limit: number, noise: Noise, random: Random): Sample {
  const around = (value: number, spread: number): number =>
    Math.max(0, value + spread * standardNormal(random));
  const throughput = surface.throughput(limit);
  const cpu = Math.min(1, around(surface.cpu(limit), noise.share));
  const memory = Math.min(1, around(surface.memory(limit), noise.share));
  return {
    limit,
    span: STEP,
    activations: Math.round((around(throughput, noise.throughput * throughput) * STEP) / 1000),
    failures: 0,
    oomKills: 0,
    busy: limit * STEP,
    capacity: limit * STEP,
    cpu,
    memory,
  };
}

/** The best throughput that a limit of the grid brings. */
export const bestThroughput = (surface: Surface, grid: LimitGrid): number =>
  Math.max(...gridLimits(grid).map((limit) => surface.throughput(limit)));

export const gridLimits = (grid: LimitGrid): number[] =>
  Array.from({ length: gridSize(grid) }, (_, place) => limitAt(grid, place));

/**
 * Where a learned table leads without exploring or learning: the limits of `steps` more iterations
 * from `start`. States that were never acted in are all ties, and broken as the tuner
 * breaks them.
 */
export function greedyLimits(
  { surface, grid, noise, seed }: Pick<TrialPlan, 'surface' | 'grid' | 'noise' | 'seed'>,
  { table }: QLearningState,
  { bins }: QLearningSettings,
  start: number,
  steps: number,
): number[] {
  const limits: number[] = [];
  const random = new SeededRandom(seed).fork(`greedy ${surface.name}`);
  let place = nearestPlace(grid, grid, start)!;
  for (let step = 0; step < steps; step++) {
    const limit = limitAt(grid, place);
    const { cpu, memory } = sampleAt(surface, limit, noise, random);
    const row =
      table[stateKey(place, { limit, throughput: 0, cpu, memory }, bins)] ?? ([0, 0, 0] as const);
    place += greedyAction(row, stepMask(grid, grid, place), random) - 1;
    limits.push(limitAt(grid, place));
  }
  return limits;
}
