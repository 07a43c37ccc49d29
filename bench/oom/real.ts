import { SeededRandom } from '../../config/index.js';
import {
  type Action,
  actionSource,
  ensureActionImage,
  InvokerEmulator,
} from '../../simulator/invoker-emulator/index.js';
import { GleanerProcess } from '../benefit/gleaner-process.js';
import { type BenchRow, promise, row, within } from '../report.js';

const PREFIX = 'wskgloom0';
const FUNCTIONS = 6;
const LIMIT_MB = 256;
/**
 * Most that an activation holds beside its runtime (about 50 MB, and what the collector has not
 * given back yet): near the limit, and below it.
 */
const MAX_MB = 90;

const action = (n: number): Action => ({
  namespace: 'guest',
  name: `hungry${n}`,
  version: '0.0.1',
  ...actionSource('memory'),
  memoryMb: LIMIT_MB,
  cpus: 1,
  timeoutMs: 60_000,
});

/**
 * Many short activations on real containers, mode `enforce`, which use up to nearly all of their
 * user limit; none would be killed with user limits. One activation per function at a time keeps it
 * warm.
 */
export async function oomReal(options: {
  readonly activations: number;
  readonly seed: number;
  readonly policy: 'guarantee' | 'faasrm';
  readonly log: (line: string) => void;
}): Promise<BenchRow[]> {
  const { activations, seed, policy, log } = options;
  const image = await ensureActionImage();
  const invoker = new InvokerEmulator({
    image,
    prefix: PREFIX,
    userMemoryMb: FUNCTIONS * LIMIT_MB,
    pauseGraceMs: 600_000,
  });
  const gleaner = new GleanerProcess({
    mode: 'enforce',
    hook: { containerPrefix: PREFIX },
    dashboard: { listen: null },
    metrics: { hook: null, agents: null, aggregator: null },
    decision: { memory: { policy } },
  });
  const random = new SeededRandom(seed);
  const outcomes = new Map<string, number>();
  let sent = 0;
  const begun = performance.now();
  const one = async (n: number): Promise<void> => {
    // Hungry now and then, as those are that surprise a safeguard.
    const megabytes = Math.round(random.next() ** 3 * MAX_MB);
    const { kind } = await invoker.invoke(action(n), {
      megabytes,
      megabytesPerSecond: 4000,
      holdMs: 2,
    });
    outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
  };
  try {
    await invoker.start();
    await gleaner.start();
    await Promise.all(
      Array.from({ length: FUNCTIONS }, async (_, n) => {
        while (sent < activations) {
          if (++sent % 1000 === 0)
            log(`${sent} activations, ${((performance.now() - begun) / 1000).toFixed(0)} s`);
          await one(n);
        }
      }),
    );
    const functions = (await gleaner.command('functions')) as {
      activations: number;
      ooms: { harvest: number; user: number };
    }[];
    const sum = (of: (fn: (typeof functions)[number]) => number): number =>
      functions.reduce((all, fn) => all + of(fn), 0);
    const kinds = [...outcomes].map(([kind, count]) => `${kind} ${count}`).join(', ');
    return [
      // The opt-in policy promises nothing.
      (policy === 'guarantee' ? promise : row)(
        `oom.real.${policy}`,
        outcomes.get('oom') ?? 0,
        `of ${sent}`,
        { note: `${kinds}; ${sum((fn) => fn.ooms.harvest)} kills below a user limit` },
      ),
      within(
        `oom.real.${policy}.seen`,
        sum((fn) => fn.activations),
        sent,
        0.01,
        'activations',
        'those not seen were not managed',
      ),
    ];
  } finally {
    await gleaner.stop();
    await invoker.stop();
  }
}
