import { type Broker, decodeEvent, wildcards } from '../../broker/index.js';
import { type Random, SeededRandom } from '../../config/index.js';
import {
  type ActivationRecord,
  type Arrival,
  ensureActionImage,
  InvokerDouble,
  playWorkload,
} from '../../simulator/index.js';
import { withNats } from '../nats.js';
import { type BenchRow, row } from '../report.js';
import { bootstrapInterval, median, quantile } from '../statistics.js';
import { GleanerProcess } from '../worth/gleaner-process.js';
import { actionOf, poissonArrivals, type Subject } from '../worth/load.js';

const PREFIX = 'wskgln0';
const USER_MEMORY_MB = 2048;
/** Allowed above what the fallback alone differs from itself by. */
const MARGIN = 0.05;
/** Between two calls of the new function, ms: each has ended before the next comes, so that one warm container serves all. */
const EVERY_MS = 250;

/** What runs already: quotas that are used in part, in bursts, and a fifth of two cores in all. */
const RUNNING: readonly Subject[] = [
  { name: 'short', memoryMb: 128, cpus: 1, body: 'cpu', payload: { cpuMs: 20 }, cpuMs: 20, rate: 4 },
  { name: 'long', memoryMb: 256, cpus: 1, body: 'cpu', payload: { cpuMs: 400 }, cpuMs: 400, rate: 0.5 },
  { name: 'waits', memoryMb: 256, cpus: 1, body: 'io', payload: { sleepMs: 150 }, cpuMs: 5, rate: 2 },
];

/** A new function's calls: more than one core's work where it is given it, and sizes that differ, in the same order in each arm. */
const NEW: Omit<Subject, 'name'> = { memoryMb: 256, cpus: 1, body: 'cpu', payload: {}, cpuMs: 60, rate: 4 };
const SIZES = [40, 60, 80, 50];

/** `fallback` alone, `aware`, `fallback` again; whose names say which manager they have. */
const ARMS = ['fallback', 'aware', 'again'] as const;
type Arm = (typeof ARMS)[number];

/** So short that a new function goes online while it is looked at: an agent of the shipped life cycle watches for a thousand steps. */
const LIFE_CYCLE = { episodeSteps: 3, windowEpisodes: 4 };

export interface NewFunctionOptions {
  readonly rounds: number;
  /** Of each arm. */
  readonly seconds: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}

interface ArmRun {
  /** In order of arrival. */
  readonly calls: readonly ActivationRecord[];
  readonly running: readonly ActivationRecord[];
}

/** A new function in a system that runs, on real containers: under the fallback, under `aware` while it learns, and under the fallback again. */
export async function benchNewFunction({ rounds, seconds, seed, log }: NewFunctionOptions): Promise<BenchRow[]> {
  const image = await ensureActionImage();
  return withNats(async (url, connect) => {
    const invoker = new InvokerDouble({
      ...{ image, prefix: PREFIX, userMemoryMb: USER_MEMORY_MB, pauseGraceMs: 600_000, logs: 'none' },
    });
    const gleaner = new GleanerProcess({
      mode: 'enforce',
      nats: { servers: [url] },
      hook: { containerPrefix: PREFIX, stepS: 1 },
      agents: { manager: 'hpa-vpa', aware: LIFE_CYCLE },
      functions: { overrides: [{ match: '/guest/new-aware-*', manager: 'aware' }] },
      decision: { policy: { quota: 'target' } },
      dashboard: { listen: null },
      metrics: { hook: null, agents: null, aggregator: null },
    });
    const changes = lifeCycleEvents(await connect('bench'));
    const runs: Record<Arm, ArmRun>[] = [];
    try {
      await invoker.start();
      await gleaner.start();
      // The running system has a history of its own before anything new comes.
      await playWorkload(invoker, poissonArrivals(RUNNING, 20, new SeededRandom(seed).fork('before')));
      for (let round = 0; round < rounds; round++) {
        const arms: Partial<Record<Arm, ArmRun>> = {};
        for (const arm of rotated(ARMS, round)) {
          arms[arm] = await playArm(invoker, `new-${arm}-${round}`, seconds, new SeededRandom(seed).fork(`${round}`));
          const { calls, running } = arms[arm];
          for (const { action, atMs, waitMs, runMs, kind, result, containerName, cold } of [...calls, ...running])
            if (kind !== 'success')
              log(
                `  ${new Date().toISOString()} ${action} at ${(atMs / 1000).toFixed(1)} s in ${containerName}${cold ? ', cold' : ''}: ${kind} after ${waitMs.toFixed(0)} + ${runMs.toFixed(0)} ms: ${JSON.stringify(result)}`,
              );
          log(
            `round ${round + 1} ${arm}: ${calls.length} calls, p99 ${quantile(durations(calls), 0.99).toFixed(1)} ms, ${calls.filter(({ ok }) => !ok).length} failed; ${changes.of(`/guest/new-${arm}-${round}`).join(', ')}`,
          );
        }
        runs.push(arms as Record<Arm, ArmRun>);
      }
      return rowsOf(runs, changes);
    } finally {
      await gleaner.stop();
      await invoker.stop();
    }
  });
}

const durations = (calls: readonly ActivationRecord[]): number[] => calls.map(({ runMs }) => runMs);

function rotated<T>(values: readonly T[], by: number): T[] {
  const first = by % values.length;
  return [...values.slice(first), ...values.slice(0, first)];
}

/** The same arrivals whatever the arm is called. */
async function playArm(invoker: InvokerDouble, name: string, seconds: number, random: Random): Promise<ArmRun> {
  const action = actionOf({ ...NEW, name });
  const fresh: Arrival[] = Array.from({ length: Math.floor((1000 * seconds) / EVERY_MS) }, (_, i) => ({
    atMs: i * EVERY_MS,
    action,
    payload: { cpuMs: SIZES[i % SIZES.length]! },
  }));
  const records = await playWorkload(invoker, [...fresh, ...poissonArrivals(RUNNING, seconds, random)]);
  const isNew = ({ action: fn }: ActivationRecord): boolean => fn === `/guest/${name}`;
  return { calls: records.filter(isNew), running: records.filter((record) => !isNew(record)) };
}

interface Changes {
  /** Transitions of a function so far, with the seconds since its first. */
  of(fn: string): string[];
}

function lifeCycleEvents(broker: Broker): Changes {
  const seen = new Map<string, { at: number; change: string }[]>();
  broker.subscribe(wildcards.events, ({ data }) => {
    const decoded = decodeEvent(data);
    if (!decoded.ok || decoded.message.kind !== 'lifecycle') return;
    const { function: fn, reason } = decoded.message;
    if (fn === null) return;
    seen.set(fn, [...(seen.get(fn) ?? []), { at: performance.now(), change: reason.split(':')[0]! }]);
  });
  return { of: (fn) => (seen.get(fn) ?? []).map(({ change }) => change) };
}

/** Each call against the same one of the fallback's first run. */
const ratios = (runs: readonly Record<Arm, ArmRun>[], arm: Arm, of: keyof ArmRun = 'calls'): number[] =>
  runs.flatMap((run) => run[arm][of].map(({ runMs }, i) => runMs / run.fallback[of][i]!.runMs));

function rowsOf(runs: readonly Record<Arm, ArmRun>[], changes: Changes): BenchRow[] {
  const p99 = (values: readonly number[]): number => quantile(values, 0.99);
  const aware = ratios(runs, 'aware');
  const again = ratios(runs, 'again');
  const byRound = (arm: Arm): number[] => runs.map((run) => p99(ratios([run], arm)));
  const differences = byRound('aware').map((value, i) => value - byRound('again')[i]!);
  const { low, high } = bootstrapInterval(differences, median, new SeededRandom(1));
  const text = (values: readonly number[]): string => values.map((value) => value.toFixed(3)).join(' ');
  const online = runs.filter((_, round) => changes.of(`/guest/new-aware-${round}`).includes('offline to online'));
  const all = (arm: Arm): ActivationRecord[] => runs.flatMap((run) => [...run[arm].calls, ...run[arm].running]);
  const failed = (arm: Arm): number => all(arm).filter(({ ok }) => !ok).length;
  return [
    row('new.p99', p99(aware), 'x', {
      baseline: p99(again),
      goal: `<= ${(p99(again) + MARGIN).toFixed(3)}`,
      note: `slowdown of each call against the same one under the fallback; ${aware.length} calls; by round ${text(byRound('aware'))}, again ${text(byRound('again'))}`,
    }),
    row('new.p99.difference', median(differences), 'x', {
      goal: `<= ${MARGIN}`,
      note: `median over rounds [${low.toFixed(3)}, ${high.toFixed(3)}]`,
    }),
    row('new.median', median(aware), 'x', { baseline: median(again) }),
    ...ARMS.map((arm) => {
      const calls = runs.flatMap((run) => durations(run[arm].calls));
      return row(`new.${arm}.p99.ms`, p99(calls), 'ms', { note: `median ${median(calls).toFixed(1)} ms` });
    }),
    row('new.online', online.length, 'functions', {
      baseline: runs.length,
      note: `went online while looked at; ${runs.map((_, round) => changes.of(`/guest/new-aware-${round}`).join(', ') || 'no change').join(' | ')}`,
    }),
    row('new.running.p99', p99(ratios(runs, 'aware', 'running')), 'x', {
      baseline: p99(ratios(runs, 'again', 'running')),
      note: 'of what ran already',
    }),
    row('new.failed', failed('aware'), 'calls', { note: `fallback ${failed('fallback')} and ${failed('again')}` }),
  ];
}
