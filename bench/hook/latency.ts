import { cpus } from 'node:os';
import { SeededRandom } from '../../config/index.js';
import { type BenchRow, row } from '../report.js';
import { bootstrapInterval, median, quantile } from '../statistics.js';
import { GleanerProcess } from '../worth/gleaner-process.js';
import { noopContainers } from './containers.js';
import { serialLoad, steadyLoad } from './http-load.js';
import { hookCpuMillis } from './processes.js';

const ACTION = '/guest/noop';
/** About 250 calls a second. */
const GAP_MILLIS = 3;

/**
 * A limit changes on each activation: peaks of any window count and the user is owed twice the host, so that a no-op is over-provisioned by
 * far: its quota is set at every start and goes back to the container's own at every end. No control arm, which would leave some alone.
 */
const everyActivation = {
  mode: 'enforce',
  hook: { core: cpus().length - 1, containerPrefix: 'wskglb0' },
  functions: { overrides: [{ match: ACTION, cpuMillicores: 2000 * cpus().length }] },
  decision: {
    minWindowMs: 0,
    peakHalfLifeS: 1,
    controlShare: 0,
    controlSamples: 1,
    policy: { quota: 'smallest-in-range' },
  },
};

/** Real containers, one connection per call, warm no-ops: what Gleaner adds to them, how late its limits are, what it costs. */
export async function benchLatency(options: {
  readonly rounds: number;
  readonly callsPerRound: number;
  readonly seconds: number;
  readonly log: (line: string) => void;
}): Promise<BenchRow[]> {
  const { containers, remove } = await noopContainers(8);
  const addresses = containers.map((container) => container.address);
  try {
    await serialLoad(addresses, ACTION, 2000);
    const added = await addedLatency(addresses, options);
    const slow = await steady(addresses, 10, options.seconds);
    const fast = await steady(addresses, 500, options.seconds);
    return [
      added,
      row('hook.lag.p50', fast.lag.p50, 'us', { goal: '<= 250', note: '500 activations/s' }),
      row('hook.lag.p99', fast.lag.p99, 'us', { goal: '<= 5000', note: '500 activations/s' }),
      row('hook.lag10.p50', slow.lag.p50, 'us', { note: '10 activations/s' }),
      row('hook.lag10.p99', slow.lag.p99, 'us', { note: '10 activations/s' }),
      row('hook.cpu', fast.hookMicros + fast.tcpdumpMicros, 'us', {
        goal: '<= 250',
        note: `an activation at 500/s, hook.core set: hook ${fast.hookMicros.toFixed(0)}, tcpdump ${fast.tcpdumpMicros.toFixed(0)}`,
      }),
      row('hook.changes', fast.changes, 'writes', {
        goal: '2',
        note: 'an activation: lowered at its start, restored at its end',
      }),
      row('hook.dropped', fast.drops + slow.drops, 'packets', { goal: '0' }),
      row('hook.seen', fast.seen + slow.seen, 'activations', {
        baseline: fast.sent + slow.sent,
        goal: '1x',
        note: 'seen by the tap, against sent',
      }),
    ];
  } finally {
    await remove();
  }
}

/** Rounds without and with Gleaner, in the order off on, on off, off on …: each start of it serves two halves. */
async function addedLatency(
  addresses: readonly string[],
  options: { rounds: number; callsPerRound: number; log: (line: string) => void },
): Promise<BenchRow> {
  const differences: number[] = [];
  const without: number[] = [];
  const withIt: number[] = [];
  let gleaner: GleanerProcess | null = null;
  const half = async (on: boolean): Promise<number> => {
    if (on && !gleaner) {
      gleaner = new GleanerProcess(everyActivation);
      await gleaner.start();
    } else if (!on && gleaner) {
      await gleaner.stop();
      gleaner = null;
    }
    await serialLoad(addresses, ACTION, 200, GAP_MILLIS);
    const calls = await serialLoad(addresses, ACTION, options.callsPerRound, GAP_MILLIS);
    const failed = calls.filter((each) => !each.ok).length;
    if (failed > 0) throw new Error(`${failed} of ${calls.length} calls failed with Gleaner ${on ? 'on' : 'off'}`);
    return median(calls.map((each) => each.durationMicros));
  };
  try {
    for (let round = 0; round < options.rounds; round++) {
      const first = await half(round % 2 === 1);
      const second = await half(round % 2 === 0);
      const [off, on] = round % 2 === 1 ? [second, first] : [first, second];
      without.push(off);
      withIt.push(on);
      differences.push(on - off);
      options.log(`round ${round + 1}: p50 ${off.toFixed(0)} us without, ${on.toFixed(0)} us with`);
    }
  } finally {
    await (gleaner as GleanerProcess | null)?.stop();
  }
  const interval = bootstrapInterval(differences, median, new SeededRandom(1));
  return row('hook.added.p50', median(differences), 'us', {
    goal: '<= 50',
    note:
      `${differences.length} rounds of ${options.callsPerRound}, 95 % [${interval.low.toFixed(0)}, ${interval.high.toFixed(0)}], ` +
      `p50 ${median(without).toFixed(0)} → ${median(withIt).toFixed(0)}; differences ${quantile(differences, 0.25).toFixed(0)}..${quantile(differences, 0.75).toFixed(0)}`,
  });
}

async function steady(addresses: readonly string[], perSecond: number, seconds: number) {
  const gleaner = new GleanerProcess(everyActivation);
  try {
    await gleaner.start();
    await steadyLoad(addresses, ACTION, perSecond, perSecond * 2);
    const before = await gleaner.status();
    const cpuBefore = hookCpuMillis(gleaner.pid);
    const calls = await steadyLoad(addresses, ACTION, perSecond, perSecond * seconds);
    const cpuAfter = hookCpuMillis(gleaner.pid);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const after = await gleaner.status();
    return {
      lag: after.counters.lagMicros ?? { p50: Number.NaN, p99: Number.NaN },
      changes: (after.counters.limitsWritten - before.counters.limitsWritten) / calls.length,
      drops: after.counters.tapDrops,
      seen: after.counters.started - before.counters.started,
      sent: calls.length,
      hookMicros: ((cpuAfter.hook - cpuBefore.hook) * 1000) / calls.length,
      tcpdumpMicros: ((cpuAfter.tcpdump - cpuBefore.tcpdump) * 1000) / calls.length,
    };
  } finally {
    await gleaner.stop();
  }
}
