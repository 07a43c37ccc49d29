import { cpus } from 'node:os';
import { SeededRandom } from '../../config/index.js';
import { mean, median } from '../../experiments/statistics.js';
import { ensureActionImage, InvokerEmulator } from '../../simulator/invoker-emulator/index.js';
import { type BenchRow, row } from '../report.js';
import { GleanerProcess } from './gleaner-process.js';
import { offeredLoad, poissonArrivals, type Subject } from './load.js';
import { durations, pairedRounds, soloRuns, warmUp } from './paired-runs.js';
import { PairedTally } from './paired-tally.js';
import { QueueingInvoker } from './queueing-invoker.js';

/**
 * Two functions that need more than their user limits, and five that use little of theirs. The user
 * limits of concurrent activations must leave CPU, since the pool lends only unallocated CPU.
 */
const SUBJECTS: readonly Subject[] = [
  {
    name: 'qhungry',
    memoryMb: 256,
    cpus: 0.5,
    body: 'cpu',
    payload: { cpuMs: 300 },
    cpuMs: 300,
    rate: 0.4,
  },
  {
    name: 'qparallel',
    memoryMb: 256,
    cpus: 0.6,
    body: 'parallel',
    payload: { cpuMs: 400, workers: 2 },
    cpuMs: 400,
    rate: 0.3,
  },
  {
    name: 'qwaiter',
    memoryMb: 256,
    cpus: 0.5,
    body: 'mixed',
    payload: { cpuMs: 60, sleepMs: 400, rounds: 6 },
    cpuMs: 60,
    rate: 1,
  },
  {
    name: 'qslow',
    memoryMb: 256,
    cpus: 0.5,
    body: 'mixed',
    payload: { cpuMs: 80, sleepMs: 800, rounds: 8 },
    cpuMs: 80,
    rate: 0.6,
  },
  {
    name: 'qshort',
    memoryMb: 128,
    cpus: 0.5,
    body: 'cpu',
    payload: { cpuMs: 20 },
    cpuMs: 20,
    rate: 1.5,
  },
  {
    name: 'qtiny',
    memoryMb: 128,
    cpus: 0.25,
    body: 'cpu',
    payload: { cpuMs: 8 },
    cpuMs: 8,
    rate: 1.5,
  },
  {
    name: 'qio',
    memoryMb: 256,
    cpus: 0.25,
    body: 'io',
    payload: { sleepMs: 250 },
    cpuMs: 2,
    rate: 1,
  },
];

const CONTAINERS = 5;

const CPU_BOUND = new Set(['qhungry', 'qparallel']);

/**
 * Quota mode: functions that need more CPU get it, and the others do not become slower beyond
 * noise. The default policy `smallest-in-range` needs no manager.
 */
export async function benchQuota(options: {
  readonly policy: string;
  readonly manager: string;
  readonly seconds: number;
  readonly rounds: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}): Promise<BenchRow[]> {
  const image = await ensureActionImage();
  const cores = cpus().length;
  const emulator = new InvokerEmulator({
    image,
    prefix: 'wskglq0',
    userMemoryMb: 8192,
    pauseGraceMs: 600_000,
    logs: 'none',
  });
  const invoker = new QueueingInvoker(emulator, CONTAINERS);
  const gleaner = new GleanerProcess({
    hook: { containerPrefix: 'wskglq0' },
    agents: { manager: options.manager },
    decision: { policy: { quota: options.policy } },
  });
  try {
    await emulator.start();
    await gleaner.start();
    // Their own work: a peak of other work would be lent CPU for an hour that these activations do
    // not use.
    await warmUp(invoker, SUBJECTS, CONTAINERS, {});
    await soloRuns(invoker, SUBJECTS, 1000);
    options.log(
      `${SUBJECTS.length} functions with quotas, ` +
        `offered load ${offeredLoad(SUBJECTS, cores).toFixed(2)}`,
    );
    const tally = new PairedTally();
    const rounds = await pairedRounds({
      ...options,
      invoker,
      gleaner,
      arrivals: (round) =>
        poissonArrivals(SUBJECTS, options.seconds, new SeededRandom(options.seed + round)),
      again: true,
      tally,
    });
    const rows = SUBJECTS.flatMap(({ name, cpus: user }) => {
      const [on, off, again] = [
        durations(rounds, 'on', name),
        durations(rounds, 'off', name),
        durations(rounds, 'again', name),
      ];
      const noise = rounds.map((round) => {
        const of = (arm: 'off' | 'again'): number =>
          mean((round[arm].get(name) ?? []).map((record) => record.runMs));
        return of('again') / of('off');
      });
      const spread = Math.max(...noise.map((ratio) => Math.max(ratio, 1 / ratio)));
      return [
        row(`quota.${name}.median`, median(on), 'ms', {
          baseline: median([...off, ...again]),
          goal: CPU_BOUND.has(name) ? '<= 0.8x' : `<= ${spread.toFixed(2)}x`,
          note:
            `user ${user} cores, ${on.length} activations; fixed against fixed ` +
            `${Math.min(...noise).toFixed(2)}..${Math.max(...noise).toFixed(2)}`,
        }),
        row(`quota.${name}.mean`, mean(on), 'ms', { baseline: mean([...off, ...again]) }),
      ];
    });
    return [...rows, ...tally.rows('quota', offeredLoad(SUBJECTS, cores))];
  } finally {
    await gleaner.stop();
    await emulator.stop();
  }
}
