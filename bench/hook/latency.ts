import { cpus } from 'node:os';
import { SeededRandom } from '../../config/index.js';
import { bootstrapInterval, median, quantile } from '../../experiments/statistics.js';
import { GleanerProcess } from '../benefit/gleaner-process.js';
import { atLeast, type BenchRow, none, precondition, row, within } from '../report.js';
import { noopContainers } from './containers.js';
import { serialLoad, steadyLoad } from './http-load.js';
import { hookCpuMillis } from './processes.js';

const ACTION = '/guest/noop';
/** More than an invoker of this size starts; only what the tap loses then is reported. */
const MOST_PER_SECOND = 2000;
/** V8 compiles and optimizes the hook's functions during this time, in a thread of its own. */
const COMPILING_SECONDS = 30;
/** About 250 activations a second. */
const GAP_MILLIS = 3;

/**
 * What the hook learns a container's peak from: about half a core over a window that counts, of the
 * two cores that its user has.
 */
const WARM_UP_PAYLOAD = { computeMs: 40, sleepMs: 60 };
const WARM_UP_ACTIVATIONS = 4;

/**
 * Limits change on each activation: with a user limit of two cores and a peak of half a core the
 * function is over-provisioned, so its quota is lowered at each start and restored at each end. No
 * control arm, which would skip some activations.
 */
const everyActivation = {
  mode: 'enforce',
  decision: { controlShare: 0, controlSamples: 1, policy: { quota: 'smallest-in-range' } },
};

/** Gleaner's settings for the containers of a bench on Docker. */
export const DOCKER = { containerPrefix: 'wskglb0' };

/** A Gleaner that has seen what the containers use. */
async function warmedUpGleaner(
  addresses: readonly string[],
  hook: Readonly<Record<string, unknown>> = DOCKER,
): Promise<GleanerProcess> {
  const gleaner = new GleanerProcess({
    ...everyActivation,
    hook: { core: cpus().length - 1, ...hook },
  });
  try {
    await gleaner.start();
    await serialLoad(
      addresses,
      ACTION,
      WARM_UP_ACTIVATIONS * addresses.length,
      GAP_MILLIS,
      WARM_UP_PAYLOAD,
    );
  } catch (error) {
    await gleaner.stop();
    throw error;
  }
  return gleaner;
}

export const WRITES_NOTHING = 'latency and CPU are those of a hook that changes no limit';

const enough = (name: string, changes: number): BenchRow =>
  atLeast(name, changes, 1.8, 'writes an activation', WRITES_NOTHING);

/** Added latency, delay of limits and CPU cost, for warm no-ops in real containers. */
export async function benchLatency(options: {
  readonly rounds: number;
  readonly activationsPerRound: number;
  readonly seconds: number;
  readonly log: (line: string) => void;
}): Promise<BenchRow[]> {
  const { containers, remove } = await noopContainers(8);
  const addresses = containers.map((container) => container.address);
  try {
    await serialLoad(addresses, ACTION, 2000);
    const added = await addedLatency(addresses, options);
    const slow = await steady(addresses, 10, options.seconds);
    const fast = await steady(addresses, 500, options.seconds, DOCKER, COMPILING_SECONDS);
    const most = await steady(addresses, MOST_PER_SECOND, Math.min(options.seconds, 5));
    return [
      added.row,
      row('hook.lag.p50', fast.lag.p50, 'us', { goal: '<= 250', note: '500 activations/s' }),
      row('hook.lag.p99', fast.lag.p99, 'us', { goal: '<= 5000', note: '500 activations/s' }),
      row('hook.lag10.p50', slow.lag.p50, 'us', { note: '10 activations/s' }),
      row('hook.lag10.p99', slow.lag.p99, 'us', { note: '10 activations/s' }),
      row('hook.cpu', fast.hookMicros + fast.tcpdumpMicros, 'us', {
        goal: '<= 150',
        note:
          `an activation at 500/s, hook.core set: hook ${fast.hookMicros.toFixed(0)}, ` +
          `tcpdump ${fast.tcpdumpMicros.toFixed(0)}`,
      }),
      row('hook.cpu.later', fast.later.hook + fast.later.tcpdump, 'us', {
        note:
          `the same after ${COMPILING_SECONDS} s more, when less is compiled: ` +
          `hook ${fast.later.hook.toFixed(0)}, tcpdump ${fast.later.tcpdump.toFixed(0)}`,
      }),
      // Lowered at its start, restored at its end; more where a weight is revised in between.
      enough('hook.changes', fast.changes),
      enough('hook.changes10', slow.changes),
      enough('hook.changes.added', Math.min(...added.changes)),
      none(
        'hook.dropped',
        fast.drops + slow.drops,
        'reports of loss',
        'activations that the tap missed cost the hook nothing',
      ),
      row(`hook.dropped${MOST_PER_SECOND}`, most.drops, 'reports of loss', {
        goal: '0',
        note:
          `${most.rate.toFixed(0)} of ${MOST_PER_SECOND} activations/s reached; ` +
          `${most.seen} of ${most.sent} seen`,
        failed: most.drops > 0,
      }),
      within(
        'hook.seen',
        (fast.seen + slow.seen) / (fast.sent + slow.sent),
        1,
        0.005,
        'of those sent',
        'cost is divided by activations that were not seen',
      ),
      none(
        'hook.failed',
        fast.failed + slow.failed,
        'activations',
        'activations that fail are quicker than those that are answered',
      ),
      precondition('hook.rate', fast.rate, 'activations/s', {
        holds: fast.rate >= 0.9 * 500,
        needs: '500, -10 %',
        why: 'this machine was too slow or too busy for the load that the figures are for',
      }),
    ];
  } finally {
    await remove();
  }
}

/**
 * Rounds without and with Gleaner, in the order off on, on off, off on …: each start of it serves
 * two halves.
 */
async function addedLatency(
  addresses: readonly string[],
  options: { rounds: number; activationsPerRound: number; log: (line: string) => void },
): Promise<{ readonly row: BenchRow; readonly changes: readonly number[] }> {
  const changes: number[] = [];
  const differences: number[] = [];
  const without: number[] = [];
  const withGleaner: number[] = [];
  let gleaner: GleanerProcess | null = null;
  const half = async (on: boolean): Promise<number> => {
    if (on && !gleaner) {
      gleaner = await warmedUpGleaner(addresses);
    } else if (!on && gleaner) {
      await gleaner.stop();
      gleaner = null;
    }
    await serialLoad(addresses, ACTION, 200, GAP_MILLIS);
    const before = await gleaner?.status();
    const activations = await serialLoad(
      addresses,
      ACTION,
      options.activationsPerRound,
      GAP_MILLIS,
    );
    const after = await gleaner?.status();
    if (before && after)
      changes.push(
        (after.counters.limitsWritten - before.counters.limitsWritten) / activations.length,
      );
    const failed = activations.filter((each) => !each.ok).length;
    if (failed > 0)
      throw new Error(
        `${failed} of ${activations.length} activations failed with Gleaner ${on ? 'on' : 'off'}`,
      );
    return median(activations.map((each) => each.durationMicros));
  };
  try {
    for (let round = 0; round < options.rounds; round++) {
      const first = await half(round % 2 === 1);
      const second = await half(round % 2 === 0);
      const [off, on] = round % 2 === 1 ? [second, first] : [first, second];
      without.push(off);
      withGleaner.push(on);
      differences.push(on - off);
      options.log(`round ${round + 1}: p50 ${off.toFixed(0)} us without, ${on.toFixed(0)} us with`);
    }
  } finally {
    await (gleaner as GleanerProcess | null)?.stop();
  }
  const interval = bootstrapInterval(differences, median, new SeededRandom(1));
  const added = row('hook.added.p50', median(differences), 'us', {
    goal: '<= 50',
    note:
      `${differences.length} rounds of ${options.activationsPerRound}, ` +
      `95 % [${interval.low.toFixed(0)}, ${interval.high.toFixed(0)}], ` +
      `p50 ${median(without).toFixed(0)} → ${median(withGleaner).toFixed(0)}; ` +
      `differences ${quantile(differences, 0.25).toFixed(0)}..` +
      quantile(differences, 0.75).toFixed(0),
  });
  return { row: added, changes };
}

/** A steady load, and what the Gleaner `pid` uses of the CPU for it, us an activation. */
async function measuredLoad(
  pid: number,
  addresses: readonly string[],
  perSecond: number,
  seconds: number,
) {
  const before = hookCpuMillis(pid);
  const begun = performance.now();
  const activations = await steadyLoad(addresses, ACTION, perSecond, perSecond * seconds);
  const rate = activations.length / ((performance.now() - begun) / 1000);
  const after = hookCpuMillis(pid);
  const micros = (of: 'hook' | 'tcpdump') => ((after[of] - before[of]) * 1000) / activations.length;
  return { activations, rate, cpu: { hook: micros('hook'), tcpdump: micros('tcpdump') } };
}

/** A Gleaner of its own beside a steady load, whose CPU is measured again after `pause` s of it. */
export async function steady(
  addresses: readonly string[],
  perSecond: number,
  seconds: number,
  hook: Readonly<Record<string, unknown>> = DOCKER,
  pause = 0,
) {
  const gleaner = await warmedUpGleaner(addresses, hook);
  try {
    await steadyLoad(addresses, ACTION, perSecond, perSecond * 2);
    const before = await gleaner.status();
    const { activations, rate, cpu } = await measuredLoad(
      gleaner.pid,
      addresses,
      perSecond,
      seconds,
    );
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const after = await gleaner.status();
    let later = { hook: Number.NaN, tcpdump: Number.NaN };
    if (pause > 0) {
      await steadyLoad(addresses, ACTION, perSecond, perSecond * pause);
      later = (await measuredLoad(gleaner.pid, addresses, perSecond, seconds)).cpu;
    }
    return {
      lag: after.counters.lagMicros ?? { p50: Number.NaN, p99: Number.NaN },
      changes: (after.counters.limitsWritten - before.counters.limitsWritten) / activations.length,
      drops: after.counters.tapDrops,
      seen: after.counters.started - before.counters.started,
      sent: activations.length,
      failed: activations.filter(({ ok }) => !ok).length,
      rate,
      hookMicros: cpu.hook,
      tcpdumpMicros: cpu.tcpdump,
      later,
    };
  } finally {
    await gleaner.stop();
  }
}
