import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../config/index.js';
import {
  type ActivationRecord,
  type Arrival,
  InvokerEmulator,
  playWorkload,
} from '../../simulator/invoker-emulator/index.js';
import { GleanerProcess } from '../benefit/gleaner-process.js';
import { containersBusyMillis, hostBusyMillis, ownBusyMillis } from '../benefit/host-cpu.js';
import type { Subject } from '../benefit/load.js';
import { warmUp } from '../benefit/paired-runs.js';
import { QueueingInvoker } from '../benefit/queueing-invoker.js';
import { measureSolo, type SoloProfile } from './profile.js';
import { type FidelityMode, fidelityArrivals } from './subjects.js';

export type FidelityManager = 'fixed' | 'greedy';

/** Warm containers of each function; further concurrent activations wait at the invoker. */
export const CONTAINERS = 4;
/** OpenWhisk's `user-memory`: what CPU shares are a part of. */
export const USER_MEMORY_MB = 8192;
/**
 * Warm-up activations, `CONTAINERS` at once of each function: so short that no peak is learned from
 * them.
 */
export const WARM_UP_CPU_MS = 1;
/** From the last warm-up activation to the first arrival, ms. */
export const SETTLE_MS = 3000;
const SOLO_ACTIVATIONS = 40;

/**
 * One condition on real containers: its activations, their durations, and the users of the cores.
 */
export interface Contended {
  readonly mode: FidelityMode;
  readonly manager: FidelityManager;
  readonly arrivals: readonly Arrival[];
  readonly records: readonly ActivationRecord[];
  readonly busy: BusyCores;
}

/** Busy cores on average: containers, Gleaner and invoker, and other processes. */
export interface BusyCores {
  readonly functions: number;
  readonly beside: number;
  readonly others: number;
}

interface Options {
  readonly subjects: readonly Subject[];
  readonly seed: number;
  readonly log: (line: string) => void;
}

/** An invoker of one image; its containers serve every condition of a mode. */
export async function withInvoker<T>(
  image: string,
  use: (emulator: InvokerEmulator) => Promise<T>,
): Promise<T> {
  const emulator = new InvokerEmulator({
    image,
    prefix: 'wskglf0',
    userMemoryMb: USER_MEMORY_MB,
    pauseGraceMs: 600_000,
    logs: 'none',
  });
  try {
    await emulator.start();
    return await use(emulator);
  } finally {
    await emulator.stop();
  }
}

/** Profiles from solo runs in stock containers, with a hook beside them that writes nothing. */
export async function soloProfiles(
  emulator: InvokerEmulator,
  options: Options,
): Promise<{ readonly profiles: ReadonlyMap<string, SoloProfile>; readonly busy: BusyCores }> {
  const profiles = new Map<string, SoloProfile>();
  return await withGleaner('fixed', async () => {
    const busySince = watchCores();
    for (const subject of options.subjects) {
      const random = new SeededRandom(options.seed).fork(`solo ${subject.name}`);
      const profile = await measureSolo(emulator, subject, SOLO_ACTIVATIONS, random);
      const { parallelism, cpuPerDemand, besideMs } = profile;
      options.log(
        `${subject.name} alone: ${parallelism.toFixed(2)} cores, ` +
          `${cpuPerDemand.toFixed(2)} x the demand, ${besideMs.toFixed(1)} ms outside of it`,
      );
      profiles.set(subject.name, profile);
    }
    return { profiles, busy: busySince() };
  });
}

/** All functions together for `seconds`, under one manager that knows nothing of them yet. */
export async function runContended(
  emulator: InvokerEmulator,
  options: Options & {
    readonly mode: FidelityMode;
    readonly manager: FidelityManager;
    readonly seconds: number;
  },
): Promise<Contended> {
  const { subjects, mode, manager, seconds, seed, log } = options;
  const arrivals = fidelityArrivals(subjects, seconds, new SeededRandom(seed));
  return await withGleaner(manager, async (gleaner) => {
    const invoker = new QueueingInvoker(emulator, CONTAINERS);
    await gleaner.setWrites(manager !== 'fixed');
    const warmed = performance.now();
    await warmUp(invoker, subjects, CONTAINERS, { cpuMs: WARM_UP_CPU_MS });
    log(
      `${mode}, ${manager}: ` +
        `containers warm after ${((performance.now() - warmed) / 1000).toFixed(1)} s`,
    );
    await sleep(SETTLE_MS);
    const busySince = watchCores();
    const records = await playWorkload(invoker, arrivals);
    const busy = busySince();
    logRecords(records, log);
    return { mode, manager, arrivals, records, busy };
  });
}

/** Measures busy cores until the returned function is called. */
function watchCores(): () => BusyCores {
  const readCounters = (): number[] => [
    performance.now(),
    containersBusyMillis(),
    ownBusyMillis(),
    hostBusyMillis(),
  ];
  const before = readCounters();
  return () => {
    const [millis, functions, beside, host] = readCounters().map(
      (value, i) => value - before[i]!,
    ) as [number, number, number, number];
    return {
      functions: functions / millis,
      beside: beside / millis,
      others: Math.max(0, host - functions - beside) / millis,
    };
  };
}

function logRecords(records: readonly ActivationRecord[], log: (line: string) => void): void {
  const failed = records.filter((record) => !record.ok);
  const late = Math.max(...records.map((record) => record.lateMs));
  log(`${records.length} activations, ${failed.length} failed; at most ${late.toFixed(0)} ms late`);
  const reasons = new Map<string, number>();
  for (const { action, kind, result } of failed) {
    const reason = `${action} ${kind}: ${String(result).slice(0, 100)}`;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  for (const [reason, count] of reasons) log(`  ${count} x ${reason}`);
}

async function withGleaner<T>(
  manager: string,
  use: (gleaner: GleanerProcess) => Promise<T>,
): Promise<T> {
  const gleaner = new GleanerProcess({
    hook: { containerPrefix: 'wskglf0' },
    agents: { manager },
    decision: { policy: { quota: 'target', weight: 'target' }, controlShare: 0 },
  });
  try {
    await gleaner.start();
    return await use(gleaner);
  } finally {
    await gleaner.stop();
  }
}
