import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MIB } from '../../config/index.js';
import { median } from '../../experiments/statistics.js';
import { type BenchRow, none, row, within } from '../report.js';
import { PUBLISHED_RATE, type RunFigures, type RunPlan, type Subject } from './runs.js';

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));
const SUBJECTS: readonly Subject[] = ['fixed', 'safeguard'];
const FUNCTIONS = 1000;

const GOAL_RATE: Readonly<Record<Subject, number>> = { fixed: 600_000, safeguard: 250_000 };
const GOAL_FLAT = '0.8..1.2';
const GOAL_MEMORY = 300;

export interface SimulatorBench {
  /** Activations of the headline figure. */
  readonly activations: number;
  readonly rounds: number;
  /** Activations by which flatness is judged, each against `activations`. */
  readonly lengths: readonly number[];
  /** Numbers of functions by which it is judged, each against 1000. */
  readonly functions: readonly number[];
  readonly log: (line: string) => void;
}

export const SIMULATOR_BENCH = {
  activations: 300_000,
  rounds: 3,
  lengths: [100_000, 1_000_000],
  functions: [100, 10_000],
};
/** With `--long`. */
export const LONGEST = 10_000_000;

interface Measured {
  readonly figures: RunFigures;
  readonly rate: number;
}

/**
 * Speed of the cluster model: activations per second on the Azure sample, load .7, 1000 functions,
 * 30 hosts of eight cores, one thread. Also the relative cost per activation by number of
 * activations and functions, and memory.
 */
export function benchSimulator({
  activations,
  rounds,
  lengths,
  functions,
  log,
}: SimulatorBench): BenchRow[] {
  const played = new Map<Subject, number>();
  const rows = SUBJECTS.flatMap((subject) => {
    const name = (what: string): string => `simulator.${subject}.${what}`;
    const measure = (functions: number, activations: number): Measured => {
      // A long run is its own repetition.
      const plan: RunPlan = {
        subject,
        functions,
        activations,
        rounds: activations < LONGEST ? rounds : 1,
      };
      const figures = inChild(plan);
      const rate = median(figures.rates);
      const each = figures.rates.map((one) => (one / 1000).toFixed(0)).join(' ');
      log(`${subject}, ${functions} functions, ${activations} activations: ${each} thousand/s`);
      return { figures, rate };
    };
    const headline = measure(FUNCTIONS, activations);
    const { figures, rate } = headline;
    played.set(subject, figures.activations);
    const cost = (what: string, { rate: other }: Measured): BenchRow =>
      row(name(what), 1e6 / other, 'us', { baseline: 1e6 / rate, goal: `ratio ${GOAL_FLAT}` });
    const byLength = lengths.map((length) => ({ length, measured: measure(FUNCTIONS, length) }));
    const byFunctions = functions.map((count) => ({
      count,
      measured: measure(count, activations),
    }));
    const longest = byLength.at(-1)?.measured.figures ?? figures;
    return [
      row(name('rate'), rate, 'activations/s', {
        baseline: PUBLISHED_RATE,
        goal: `>= ${GOAL_RATE[subject]}`,
        note: described(subject, figures),
      }),
      ...byLength.map(({ length, measured }) =>
        cost(`cost.activations-${power(length)}`, measured),
      ),
      ...byFunctions.map(({ count, measured }) => cost(`cost.functions-${count}`, measured)),
      row(name('memory'), longest.peakMemory / MIB, 'MiB', {
        goal: `< ${GOAL_MEMORY}`,
        note: `highest resident memory of the process, ${longest.activations} activations a run`,
      }),
    ];
  });
  const counts = [...played.values()];
  return [
    ...rows,
    none(
      'simulator.uneven',
      Math.max(...counts) - Math.min(...counts),
      'activations',
      'the subjects did not play the same activations, so their rates cannot be compared',
    ),
    ...SUBJECTS.map((subject) =>
      within(
        `simulator.${subject}.activations`,
        played.get(subject) ?? 0,
        activations,
        0.1,
        'activations',
        'the run was not as long as asked',
      ),
    ),
  ];
}

function inChild(plan: RunPlan): RunFigures {
  // Standard error is ours: a failure of the child is seen.
  const out = execFileSync(process.execPath, [CHILD, JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(out.toString()) as RunFigures;
}

function described(
  subject: Subject,
  { rates, busy, activations, trips, observations }: RunFigures,
): string {
  const range = `${thousands(Math.min(...rates))} to ${thousands(Math.max(...rates))}`;
  const spread = `${rates.length} runs of ${activations}, ${range}; ${busy.toFixed(2)} cores busy`;
  const what =
    subject === 'safeguard'
      ? `; ${trips} mid-run restorations, ${observations} observations a run`
      : '';
  return `${spread}${what}; baseline: the published simulator's events/s, quoted`;
}

const thousands = (rate: number): string => `${(rate / 1000).toFixed(0)}k`;

/** 1e6 as `1e6`, anything else in full. */
const power = (count: number): string => {
  const exponent = Math.log10(count);
  return Number.isInteger(exponent) ? `1e${exponent}` : `${count}`;
};
