import { gridSize, type LimitGrid, limitAt } from '../../agents/tuning/index.js';
import { SeededRandom } from '../../config/index.js';
import { mean, median } from '../../experiments/statistics.js';
import { ensureActionImage } from '../../simulator/invoker-emulator/index.js';
import { atLeast, type BenchRow, row } from '../report.js';
import { pinSelf } from './activation-recorder.js';
import { measureLimit } from './cell.js';
import { PROFILES } from './profiles.js';
import { bestOf } from './shape.js';
import { CORES, shuffled } from './sweep.js';
import { tuneForReal } from './tuning.js';

/**
 * Activations that wait and hold memory: the best limit lies inside, as more of them fit until the
 * container is killed.
 */
const PROFILE = 'mixed';
const GRID: LimitGrid = { least: 10, most: 130, step: 30 };
/** Rounds of the sweep before each run. */
const SWEEPS = 2;
/** Enough to walk from one end of five limits to the other, and back by one. */
const FOLLOWED = 6;

export interface TunerBenchOptions {
  /** The first seed, and how many. */
  readonly seed: number;
  readonly seeds: number;
  readonly iterations: number;
  readonly grid?: LimitGrid;
  readonly stepMs?: number;
  readonly log: (line: string) => void;
}

/**
 * The tuner on a real container against a sweep of the same five limits made right before: one of
 * each per seed.
 */
export async function benchTuner(options: TunerBenchOptions): Promise<BenchRow[]> {
  const { seed: first, seeds, iterations, grid = GRID, stepMs = 1500, log } = options;
  const image = await ensureActionImage();
  const pinned = await pinSelf(CORES.callers);
  const core = pinned ? CORES.container : null;
  if (!pinned) log('not pinned: no taskset, or one core');
  const common = { image, name: PROFILE, payload: PROFILES[PROFILE].payload, core };
  const limits = Array.from({ length: gridSize(grid) }, (_, place) => limitAt(grid, place));
  const rows: BenchRow[] = [];
  let found = 0;
  try {
    for (let seed = first; seed < first + seeds; seed++) {
      const random = new SeededRandom(seed);
      const rates = new Map<number, number[]>(limits.map((limit) => [limit, []]));
      for (let round = 0; round < SWEEPS; round++)
        for (const limit of shuffled(limits, random)) {
          const shape = { limit, callers: grid.most + 10, warmUpMs: 1500, windowMs: 1500 };
          const { throughput } = await measureLimit({ ...common, ...shape });
          rates.get(limit)!.push(throughput);
        }
      const figures = limits.map((limit) => ({
        limit,
        throughput: median(rates.get(limit)!),
        success: 1,
      }));
      const best = bestOf(figures);
      const swept = figures
        .map(({ limit, throughput }) => `${limit}: ${throughput.toFixed(0)}`)
        .join(', ');
      log(`seed ${seed}: swept ${swept}`);
      const start = limits[random.below(limits.length)]!;
      const run = await tuneForReal({
        ...common,
        grid,
        start,
        seed,
        iterations,
        followed: FOLLOWED,
        stepMs,
      });
      log(`seed ${seed}: ${run.limits.join(' ')}, then ${run.final}`);
      const distance = Math.abs(run.final - best.limit) / grid.step;
      if (distance <= 1) found++;
      const at = (limit: number): number => figures.find((one) => one.limit === limit)!.throughput;
      rows.push(
        row(`tuner.seed${seed}.final`, run.final, 'limit', {
          baseline: best.limit,
          note:
            `from ${start}; swept ${swept} /s; ` +
            `${run.limits.length} iterations in ${run.seconds.toFixed(0)} s`,
        }),
        row(
          `tuner.seed${seed}.kept`,
          at(run.final) / best.throughput,
          "of the best limit's throughput",
          {
            note: [
              `while exploring ${(mean(run.limits.map(at)) / best.throughput).toFixed(2)}`,
              `${run.states} states`,
              `${run.succeeded} of ${run.activations} activations succeeded`,
            ].join('; '),
          },
        ),
        atLeast(
          `tuner.seed${seed}.succeeded`,
          run.succeeded / Math.max(1, run.activations),
          0.9,
          'of activations',
          'a tuner whose activations fail learns from failures alone',
        ),
        row(`tuner.seed${seed}.inside`, run.maxConcurrent, 'activations', {
          baseline: run.highest,
          note: 'most concurrent activations seen by the function; goal: the highest limit',
        }),
      );
    }
  } finally {
    await pinSelf(null);
  }
  rows.push(
    row('tuner.found', found, 'runs', { baseline: seeds, goal: 'all within one step of the best' }),
  );
  return rows;
}
