import { cpus } from 'node:os';
import { median, quantile } from '../../experiments/statistics.js';
import { ensureActionImage } from '../../simulator/invoker-emulator/index.js';
import type { Subject } from '../benefit/load.js';
import { type BenchRow, none, row, table } from '../report.js';
import {
  type Contended,
  type FidelityManager,
  runContended,
  soloProfiles,
  withInvoker,
} from './contended.js';
import { predict } from './predict.js';
import { coresOf } from './profile.js';
import { type FidelityMode, fidelitySubjects, meanDemandOf } from './subjects.js';

export const FIDELITY_MODES: readonly FidelityMode[] = ['weight', 'quota'];
export const FIDELITY_MANAGERS: readonly FidelityManager[] = ['fixed', 'greedy'];
const QUANTILES = [0.5, 0.9] as const;
/**
 * Above this share of the cores, all that is beside the functions included, queues say more of the
 * tail of the arrivals than of the model.
 */
const HIGHEST_LOAD = 0.8;
/** Cores used by others: above this a run says more of them than of the model. */
const QUIET = '<= 0.1';

export interface FidelityOptions {
  readonly modes: readonly FidelityMode[];
  readonly managers: readonly FidelityManager[];
  /** The functions' own CPU work as a share of the cores. */
  readonly load: number;
  /** Activations of each function in each condition. */
  readonly activations: number;
  /** Length of a condition; 0: what `activations` take at `load`. */
  readonly seconds: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}

/**
 * What the simulator predicts, held against real containers: profiles from solo runs, then every
 * function together on this machine's cores, under each manager and in each mode. The error is
 * |predicted - measured| / measured of a function's p50 and p90. Each condition's figures are
 * logged as it ends.
 */
export async function benchFidelity(options: FidelityOptions): Promise<BenchRow[]> {
  const { load, activations, seed, log, modes, managers } = options;
  const cores = cpus().length;
  const image = await ensureActionImage();
  const stock = fidelitySubjects('weight', load, cores);
  const seconds = options.seconds > 0 ? options.seconds : activations / stock[0]!.rate;
  const { profiles, busy } = await withInvoker(image, (emulator) =>
    soloProfiles(emulator, { subjects: stock, seed: seed + 1, log }),
  );
  const expectedCores = coresOf(stock, profiles, meanDemandOf);
  const whole = (expectedCores.functions + expectedCores.beside) / cores;
  log(
    `offered load ${load} of ${cores} cores, ` +
      `${whole.toFixed(2)} with proxies, invoker and Gleaner; ${seconds.toFixed(0)} s a condition`,
  );
  const rows = [
    row('fidelity.load', whole, 'share of cores', {
      goal: `<= ${HIGHEST_LOAD}`,
      note: `${load} by the functions' own work`,
    }),
    row('fidelity.solo.others', busy.others, 'cores', {
      goal: QUIET,
      note: 'busy with neither functions nor Gleaner',
    }),
  ];
  log(table(rows));
  const errors: number[] = [];
  for (const mode of modes) {
    await withInvoker(image, async (emulator) => {
      for (const manager of managers) {
        const subjects = fidelitySubjects(mode, load, cores);
        const real = await runContended(emulator, { subjects, mode, manager, seconds, seed, log });
        const expected = predict(subjects, profiles, real, seed + 2);
        const ended = conditionRows(subjects, real, expected, expectedCores.beside, errors);
        rows.push(...ended);
        log(table([...ended, ...errorRows(errors)]));
      }
    });
  }
  return [...rows, ...errorRows(errors)];
}

function conditionRows(
  subjects: readonly Subject[],
  real: Contended,
  expected: ReadonlyMap<string, readonly number[]>,
  beside: number,
  errors: number[],
): BenchRow[] {
  const tag = `fidelity.${real.mode}.${real.manager}`;
  const failed = real.records.filter((record) => !record.ok).length;
  return [
    ...subjects.flatMap((subject) =>
      compare(tag, subject, real, expected.get(subject.name)!, errors),
    ),
    row(`${tag}.beside`, beside, 'cores', {
      baseline: real.busy.beside,
      note: 'busy with the invoker and Gleaner',
    }),
    row(`${tag}.others`, real.busy.others, 'cores', {
      goal: QUIET,
      note: `busy with neither; functions ${real.busy.functions.toFixed(2)}`,
    }),
    none(
      `${tag}.failed`,
      failed,
      `of ${real.records.length} activations`,
      'activations that fail are predicted by nothing',
    ),
  ];
}

function compare(
  tag: string,
  subject: Subject,
  real: Contended,
  predicted: readonly number[],
  errors: number[],
): BenchRow[] {
  const measured = real.records
    .filter((record) => record.ok && record.action === `/guest/${subject.name}`)
    .map((record) => record.runMs);
  return QUANTILES.map((q) => {
    const [from, to] = [quantile(measured, q), quantile(predicted, q)];
    errors.push(Math.abs(to - from) / from);
    return row(`${tag}.${subject.name}.p${q * 100}`, to, 'ms', {
      baseline: from,
      note: `predicted against measured, ${measured.length} activations`,
    });
  });
}

function errorRows(errors: readonly number[]): BenchRow[] {
  return [
    row('fidelity.error.median', median(errors), 'share', {
      goal: '< 0.15',
      note: `${errors.length} figures`,
    }),
    row('fidelity.error.worst', Math.max(...errors), 'share', {}),
  ];
}
