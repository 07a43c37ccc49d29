import { SeededRandom } from '../../config/index.js';
import { type ActivationRecord, type Arrival, InvokerDouble, playWorkload } from '../../simulator/index.js';
import { GleanerProcess } from '../worth/gleaner-process.js';
import type { Subject } from '../worth/load.js';
import { warmUp } from '../worth/paired-runs.js';
import { QueueingInvoker } from '../worth/queueing-invoker.js';
import { measureSolo, type SoloProfile } from './profile.js';
import { type FidelityMode, fidelityArrivals } from './subjects.js';

export type FidelityManager = 'fixed' | 'greedy';

/** Containers of each function, all warm before anything is measured; more calls at once wait at the invoker. */
export const CONTAINERS = 8;
/** OpenWhisk's `user-memory`: what CPU shares are a part of. */
export const USER_MEMORY_MB = 8192;
const SOLO_CALLS = 40;

/** One condition on real containers: what was played and what became of it. */
export interface Contended {
  readonly mode: FidelityMode;
  readonly manager: FidelityManager;
  readonly arrivals: readonly Arrival[];
  readonly records: readonly ActivationRecord[];
}

interface Options {
  readonly image: string;
  readonly subjects: readonly Subject[];
  readonly seed: number;
  readonly log: (line: string) => void;
}

/** Profiles from solo runs in stock containers, with a hook beside them that writes nothing. */
export async function soloProfiles(options: Options): Promise<Map<string, SoloProfile>> {
  const profiles = new Map<string, SoloProfile>();
  await withParts(options.image, 'fixed', async (double) => {
    for (const subject of options.subjects) {
      const random = new SeededRandom(options.seed).fork(`solo ${subject.name}`);
      const profile = await measureSolo(double, subject, SOLO_CALLS, random);
      options.log(
        `${subject.name} alone: ${profile.parallelism.toFixed(2)} cores, ${profile.overheadMs.toFixed(1)} ms beside`,
      );
      profiles.set(subject.name, profile);
    }
  });
  return profiles;
}

/** All functions together for `seconds`, under one manager. */
export async function runContended(
  options: Options & { readonly mode: FidelityMode; readonly manager: FidelityManager; readonly seconds: number },
): Promise<Contended> {
  const { image, subjects, mode, manager, seconds, seed, log } = options;
  const arrivals = fidelityArrivals(subjects, seconds, new SeededRandom(seed));
  return await withParts(image, manager, async (double, gleaner) => {
    const invoker = new QueueingInvoker(double, CONTAINERS);
    await warmUp(invoker, subjects, CONTAINERS);
    await gleaner.setWrites(manager !== 'fixed');
    const records = await playWorkload(invoker, arrivals);
    const failed = records.filter((record) => !record.ok);
    log(`${mode}, ${manager}: ${records.length} calls, ${failed.length} failed ${failed[0]?.kind ?? ''}`);
    return { mode, manager, arrivals, records };
  });
}

async function withParts<T>(
  image: string,
  manager: FidelityManager,
  use: (double: InvokerDouble, gleaner: GleanerProcess) => Promise<T>,
): Promise<T> {
  const double = new InvokerDouble({
    image,
    prefix: 'wskglf0',
    userMemoryMb: USER_MEMORY_MB,
    pauseGraceMs: 600_000,
    logs: 'none',
  });
  const gleaner = new GleanerProcess({
    hook: { containerPrefix: 'wskglf0' },
    agents: { manager },
    decision: { policy: { quota: 'target', weight: 'target' }, controlShare: 0 },
  });
  try {
    await double.start();
    await gleaner.start();
    return await use(double, gleaner);
  } finally {
    await gleaner.stop();
    await double.stop();
  }
}
