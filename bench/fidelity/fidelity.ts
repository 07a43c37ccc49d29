import { cpus } from 'node:os';
import { ensureActionImage } from '../../simulator/index.js';
import { type BenchRow, row } from '../report.js';
import { median, quantile } from '../statistics.js';
import type { Subject } from '../worth/load.js';
import { type Contended, type FidelityManager, runContended, soloProfiles } from './contended.js';
import { predict } from './predict.js';
import { type FidelityMode, fidelitySubjects } from './subjects.js';

const MODES: readonly FidelityMode[] = ['weight', 'quota'];
const MANAGERS: readonly FidelityManager[] = ['fixed', 'greedy'];
const QUANTILES = [0.5, 0.9] as const;

/**
 * What the simulator predicts, held against real containers: profiles from solo runs, then every function together on this machine's
 * cores, under each manager and in each mode. The error is |predicted - measured| / measured of a function's p50 and p90.
 */
export async function benchFidelity(options: {
  readonly load: number;
  readonly seconds: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}): Promise<BenchRow[]> {
  const { load, seconds, seed, log } = options;
  const cores = cpus().length;
  const image = await ensureActionImage();
  const stock = fidelitySubjects('weight', load, cores);
  const profiles = await soloProfiles({ image, subjects: stock, seed: seed + 1, log });
  const rows: BenchRow[] = [];
  const errors: number[] = [];
  for (const mode of MODES) {
    for (const manager of MANAGERS) {
      const subjects = fidelitySubjects(mode, load, cores);
      const real = await runContended({ image, subjects, mode, manager, seconds, seed, log });
      const expected = predict(subjects, profiles, real, seed + 2);
      for (const subject of subjects) rows.push(...compare(subject, real, expected.get(subject.name)!, errors));
    }
  }
  return [
    ...rows,
    row('fidelity.error.median', median(errors), 'share', {
      goal: '< 0.15',
      note: `${errors.length} figures, load ${load}`,
    }),
    row('fidelity.error.worst', Math.max(...errors), 'share', {}),
  ];
}

function compare(subject: Subject, real: Contended, predicted: readonly number[], errors: number[]): BenchRow[] {
  const measured = real.records
    .filter((record) => record.ok && record.action === `/guest/${subject.name}`)
    .map((record) => record.runMs);
  return QUANTILES.map((q) => {
    const [from, to] = [quantile(measured, q), quantile(predicted, q)];
    errors.push(Math.abs(to - from) / from);
    return row(`fidelity.${real.mode}.${real.manager}.${subject.name}.p${q * 100}`, to, 'ms', {
      baseline: from,
      note: `predicted against measured, ${measured.length} calls`,
    });
  });
}
