import { SeededRandom } from '../../config/index.js';
import { bootstrapInterval, median } from '../../experiments/statistics.js';
import { ensureActionImage } from '../../simulator/invoker-emulator/index.js';
import { type BenchRow, row, within } from '../report.js';
import { pinSelf } from './activation-recorder.js';
import { type Cell, measureLimit } from './cell.js';
import { PROFILES, type ProfileName } from './profiles.js';
import { type LimitFigures, shapeOf } from './shape.js';

const SWEPT = ['sleep', 'prime', 'bloat'] as const satisfies readonly ProfileName[];
const LIMITS = [10, 30, 70, 110, 150, 190, 250, 310];
/** Callers, emulator and tap on one core, the container on the other. */
export const CORES = { callers: 0, container: 1 };

export interface SweepOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly limits?: readonly number[];
  readonly callers?: number;
  readonly warmUpMs?: number;
  readonly windowMs?: number;
  readonly log: (line: string) => void;
}

/**
 * The first experiment of Schuler et al. on Knative: throughput and latency at each concurrency
 * limit for activations that wait, compute and hold memory.
 */
export async function benchConcurrency(options: SweepOptions): Promise<BenchRow[]> {
  const {
    rounds,
    seed,
    limits = LIMITS,
    callers = 320,
    warmUpMs = 1700,
    windowMs = 2000,
    log,
  } = options;
  const image = await ensureActionImage();
  const random = new SeededRandom(seed);
  const pinned = await pinSelf(CORES.callers);
  if (!pinned) log('not pinned: no taskset, or one core');
  const cells = new Map<string, Cell[]>();
  try {
    for (let round = 0; round < rounds; round++) {
      const order = shuffled(
        SWEPT.flatMap((profile) => limits.map((limit) => ({ profile, limit }))),
        random,
      );
      for (const { profile, limit } of order) {
        const core = pinned ? CORES.container : null;
        const { payload } = PROFILES[profile];
        const cell = await measureLimit({
          ...{ image, name: profile, payload, limit, callers, warmUpMs, windowMs, core },
        });
        const name = nameOf(profile, limit);
        cells.set(name, [...(cells.get(name) ?? []), cell]);
        log(
          [
            `round ${round + 1} ${name}: ${cell.throughput.toFixed(0)}/s`,
            `mean ${cell.mean.toFixed(0)} ms, p95 ${cell.p95.toFixed(0)} ms`,
            `${(100 * cell.success).toFixed(1)} % succeed`,
            `at most ${cell.maxConcurrent} concurrent`,
            `${cell.seen} of ${cell.sent} seen`,
          ].join(', '),
        );
      }
    }
  } finally {
    await pinSelf(null);
  }
  return [
    ...SWEPT.flatMap((profile) => profileRows(profile, limits, cells)),
    ...tapRows([...cells.values()].flat()),
  ];
}

const nameOf = (profile: ProfileName, limit: number): string => `concurrency.${profile}.${limit}`;

/** Fisher and Yates. */
export function shuffled<T>(values: readonly T[], random: SeededRandom): T[] {
  const mixed = [...values];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [mixed[i], mixed[j]] = [mixed[j]!, mixed[i]!];
  }
  return mixed;
}

function profileRows(
  profile: (typeof SWEPT)[number],
  limits: readonly number[],
  cells: ReadonlyMap<string, readonly Cell[]>,
): BenchRow[] {
  const rows: BenchRow[] = [];
  const figures: LimitFigures[] = [];
  for (const limit of limits) {
    const name = nameOf(profile, limit);
    const rounds = cells.get(name)!;
    const of = (key: keyof Cell): number[] =>
      rounds.map((cell) => cell[key]).filter((value) => !Number.isNaN(value));
    const figure = (key: keyof Cell, unit: string, scale = 1): BenchRow => {
      const values = of(key).map((value) => scale * value);
      const { low, high } = bootstrapInterval(values, median, new SeededRandom(1));
      return row(`${name}.${key}`, median(values), unit, {
        note: `[${low.toFixed(1)}, ${high.toFixed(1)}]`,
      });
    };
    rows.push(
      figure('throughput', '/s'),
      figure('mean', 'ms'),
      figure('p95', 'ms'),
      figure('success', '%', 100),
      row(`${name}.inside`, Math.max(...of('maxConcurrent')), 'activations', { baseline: limit }),
    );
    figures.push({ limit, throughput: median(of('throughput')), success: median(of('success')) });
  }
  const { holds, rule, seen } = shapeOf(profile, figures);
  rows.push(
    row(`concurrency.${profile}.shape`, holds ? 1 : 0, 'holds', { goal: rule, note: seen }),
  );
  return rows;
}

/** Of cells without a kill: activations that a kill met were sent, or not. */
function tapRows(cells: readonly Cell[]): BenchRow[] {
  const whole = cells.filter(({ kills }) => kills === 0);
  const sum = (of: readonly Cell[], key: 'sent' | 'seen' | 'kills'): number =>
    of.reduce((total, cell) => total + cell[key], 0);
  const killed = cells.filter(({ kills }) => kills > 0);
  return [
    within(
      'concurrency.seen',
      sum(whole, 'seen'),
      sum(whole, 'sent'),
      0.001,
      `activations of ${whole.length} cells without a kill`,
      'the tap did not see what was sent',
    ),
    row('concurrency.seen.killed', sum(killed, 'seen'), 'activations', {
      baseline: sum(killed, 'sent'),
      note:
        `in ${killed.length} cells with ${sum(killed, 'kills')} OOM kills; ` +
        'activations to a closed port were not sent',
    }),
  ];
}
