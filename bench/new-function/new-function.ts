import { setTimeout as sleep } from 'node:timers/promises';
import { type Broker, wildcards } from '../../broker/index.js';
import { type AgentReport, decodeAgentReport } from '../../broker/messages/index.js';
import { type Random, SeededRandom } from '../../config/index.js';
import {
  type Action,
  type ActivationResult,
  ensureActionImage,
  InvokerEmulator,
  playWorkload,
} from '../../simulator/invoker-emulator/index.js';
import { GleanerProcess } from '../benefit/gleaner-process.js';
import { actionOf, poissonArrivals, type Subject } from '../benefit/load.js';
import { withNats } from '../nats.js';
import { atLeast, type BenchRow } from '../report.js';
import {
  ARMS,
  type Arm,
  type ArmRecord,
  addRound,
  type CallRecord,
  type RoundRecord,
  readRounds,
} from './records.js';
import { learningFigures, newFunctionRows, onlineFigures } from './rounds-rows.js';

const PREFIX = 'wskgln0';
/** Memory for the containers of three rounds, so that no evictions disturb the comparison. */
const USER_MEMORY_MB = 4096;
/** Between two calls of the new function, ms. */
const EVERY_MS = 200;
/** Running functions: bursts that use a part of their quotas, a sixth of two cores in total. */
const RUNNING: readonly Subject[] = [
  {
    name: 'short',
    memoryMb: 128,
    cpus: 1,
    body: 'cpu',
    payload: { cpuMs: 20 },
    cpuMs: 20,
    rate: 4,
  },
  {
    name: 'long',
    memoryMb: 256,
    cpus: 1,
    body: 'cpu',
    payload: { cpuMs: 400 },
    cpuMs: 400,
    rate: 0.5,
  },
  {
    name: 'waits',
    memoryMb: 256,
    cpus: 1,
    body: 'io',
    payload: { sleepMs: 150 },
    cpuMs: 5,
    rate: 2,
  },
];
/** Without contention, ms. */
const SOLO_MS: Readonly<Record<string, number>> = {
  '/guest/short': 20,
  '/guest/long': 400,
  '/guest/waits': 150,
};

/**
 * Calls of a new function: different sizes in the same order in each arm. It has a quota in odd
 * rounds, and none, as on stock OpenWhisk, in even ones.
 */
const NEW: Omit<Subject, 'name'> = {
  memoryMb: 256,
  body: 'cpu',
  payload: {},
  cpuMs: 60,
  rate: 1000 / EVERY_MS,
};
const SIZES = [40, 60, 80, 50];
const modeOf = (round: number): RoundRecord['mode'] => (round % 2 === 1 ? 'quota' : 'weight');

/**
 * A decision per call, and a short life cycle, so that a new function is online for most of the
 * run. The shipped life cycle stays offline for a thousand steps of up to 20 calls.
 */
const HOOK = { stepActivations: 1, stepS: 1 };
const LIFE_CYCLE = { episodeSteps: 10, windowEpisodes: 4 };

export interface NewFunctionOptions {
  readonly rounds: number;
  /** Number of the first: a run can be made in parts. */
  readonly first: number;
  /** Of each arm. */
  readonly seconds: number;
  readonly seed: number;
  /** File where rounds are kept, and all in it are judged; undefined: those of this run. */
  readonly records: string | undefined;
  readonly log: (line: string) => void;
}

/**
 * A new function in a running system on real containers: with the fallback, with `aware` while it
 * learns, and with the fallback again.
 */
export async function benchNewFunction(options: NewFunctionOptions): Promise<BenchRow[]> {
  const { rounds: count, first, seconds, seed, records, log } = options;
  let kept = readRounds(records);
  const image = await ensureActionImage();
  return withNats(async (url, connect) => {
    const invoker = new InvokerEmulator({
      ...{
        image,
        prefix: PREFIX,
        userMemoryMb: USER_MEMORY_MB,
        pauseGraceMs: 600_000,
        logs: 'none',
      },
    });
    const gleaner = new GleanerProcess({
      mode: 'enforce',
      nats: { servers: [url] },
      hook: { containerPrefix: PREFIX, ...HOOK },
      agents: { manager: 'hpa-vpa', aware: LIFE_CYCLE },
      functions: { overrides: [{ match: '/guest/new-aware-*', manager: 'aware' }] },
      decision: { policy: { quota: 'target' } },
      dashboard: { listen: null },
      metrics: { hook: null, agents: null, aggregator: null },
    });
    const watch = new AgentWatch(await connect('bench'));
    try {
      await invoker.start();
      await gleaner.start();
      await warmUp(invoker, RUNNING.map(actionOf));
      // The running functions get a history before the new one starts.
      await playWorkload(
        invoker,
        poissonArrivals(RUNNING, 20, new SeededRandom(seed).fork('before')),
      );
      for (let round = first; round < first + count; round++) {
        const arms: Partial<Record<Arm, ArmRecord>> = {};
        for (const arm of rotated(ARMS, round - 1)) {
          const random = new SeededRandom(seed).fork(`${round}`);
          arms[arm] = await playArm(invoker, {
            name: nameOf(arm, round),
            round,
            seconds,
            random,
            watch,
            log,
          });
        }
        const { decisions, moved } = watch.decisionsOf(`/guest/${nameOf('aware', round)}`);
        const played = {
          round,
          mode: modeOf(round),
          arms: arms as Record<Arm, ArmRecord>,
          decisions,
          moved,
        };
        log(textOf(played));
        kept = addRound(records, kept, played);
      }
      return [
        ...newFunctionRows(kept),
        ...ARMS.map((arm) =>
          atLeast(
            `new.${arm}.calls`,
            Math.min(...kept.map(({ arms }) => arms[arm].fresh.filter(({ ok }) => ok).length)),
            30,
            'calls of an arm that succeeded',
            'too few calls for a p99',
          ),
        ),
        atLeast(
          'new.decisions',
          Math.min(
            ...kept.map(({ decisions }) =>
              Object.values(decisions).reduce((all, one) => all + one, 0),
            ),
          ),
          1,
          'decisions of manager aware in a round',
          'the manager that is measured decided nothing',
        ),
      ];
    } finally {
      await gleaner.stop();
      await invoker.stop();
    }
  });
}

/** Calls each function once, one after another: concurrent cold starts would overload two cores. */
async function warmUp(invoker: InvokerEmulator, actions: readonly Action[]): Promise<void> {
  for (const action of actions) await invoker.invoke(action, { cpuMs: SIZES[0], sleepMs: 1 });
}

/** The name selects its manager. */
const nameOf = (arm: Arm, round: number): string => `new-${arm}-${round}`;

function rotated<T>(values: readonly T[], by: number): T[] {
  const first = by % values.length;
  return [...values.slice(first), ...values.slice(0, first)];
}

interface ArmPlan {
  readonly name: string;
  readonly round: number;
  readonly seconds: number;
  readonly random: Random;
  readonly watch: AgentWatch;
  readonly log: (line: string) => void;
}

/** The same calls in each arm. */
async function playArm(invoker: InvokerEmulator, plan: ArmPlan): Promise<ArmRecord> {
  const { name, round, seconds, random, watch, log } = plan;
  const action = actionOf({ ...NEW, ...(modeOf(round) === 'quota' ? { cpus: 1 } : {}), name });
  await warmUp(invoker, [action]);
  const [fresh, running] = await Promise.all([
    callOneByOne(invoker, action, Math.floor((1000 * seconds) / EVERY_MS)),
    playWorkload(invoker, poissonArrivals(RUNNING, seconds, random)),
  ]);
  for (const [fn, result] of [
    ...fresh.map(({ result }) => [name, result] as const),
    ...running.map((result) => [result.action, result] as const),
  ])
    if (!result.ok) log(failureText(fn, result));
  return {
    fresh: fresh.map(({ result: { runMs, ok }, cpuMs, at }) => ({
      slowdown: runMs / cpuMs,
      ok,
      phase: watch.phaseOf(`/guest/${name}`, at),
    })),
    running: running.map(
      ({ action: fn, runMs, ok }): CallRecord => ({
        slowdown: runMs / (SOLO_MS[fn] ?? Number.NaN),
        ok,
        phase: 'managing',
      }),
    ),
  };
}

interface NewCall {
  readonly result: ActivationResult;
  readonly cpuMs: number;
  /** When it was sent, a reading of `performance.now()`. */
  readonly at: number;
}

/** A client that calls every `EVERY_MS` and waits for each answer, so that one container serves. */
async function callOneByOne(
  invoker: InvokerEmulator,
  action: Action,
  count: number,
): Promise<NewCall[]> {
  const calls: NewCall[] = [];
  const began = performance.now();
  for (let i = 0; i < count; i++) {
    const wait = began + i * EVERY_MS - performance.now();
    if (wait > 0) await sleep(wait);
    const cpuMs = SIZES[i % SIZES.length]!;
    const at = performance.now();
    calls.push({ result: await invoker.invoke(action, { cpuMs }), cpuMs, at });
  }
  return calls;
}

const failureText = (
  fn: string,
  { waitMs, runMs, kind, result, containerName, cold }: ActivationResult,
): string =>
  `  ${fn} in ${containerName}${cold ? ', cold' : ''}: ${kind} ` +
  `after ${waitMs.toFixed(0)} + ${runMs.toFixed(0)} ms: ${JSON.stringify(result)}`;

function textOf(round: RoundRecord): string {
  const { p99, above } = learningFigures(round);
  const online = onlineFigures(round);
  const both = (figures: typeof p99): string =>
    ARMS.map((arm) => `${arm} ${figures[arm].toFixed(3)}`).join(', ');
  const phases = Object.entries(round.decisions).map(([phase, count]) => `${phase} ${count}`);
  return `round ${round.round} (${round.mode}): p99 ${both(p99)}, above ${above.toFixed(3)}; ${
    online === null
      ? 'never online'
      : `online ${online.calls} calls, ${both(online.p99)}, above ${online.above.toFixed(3)}`
  }; ${phases.join(', ')}, moved ${round.moved}`;
}

/** Reports of agents at each step. */
class AgentWatch {
  readonly #reports = new Map<string, { readonly at: number; readonly report: AgentReport }[]>();

  constructor(broker: Broker) {
    broker.subscribe(wildcards.agentReports, ({ data }) => {
      const decoded = decodeAgentReport(data);
      if (!decoded.ok) return;
      const { message: report } = decoded;
      const known = this.#reports.get(report.function);
      if (known === undefined)
        this.#reports.set(report.function, [{ at: performance.now(), report }]);
      else known.push({ at: performance.now(), report });
    });
  }

  /** Phase at `at`, a reading of `performance.now()`. */
  phaseOf(fn: string, at: number): string {
    return this.#reports.get(fn)?.findLast((one) => one.at <= at)?.report.phase ?? 'new';
  }

  decisionsOf(fn: string): Pick<RoundRecord, 'decisions' | 'moved'> {
    const decisions: Record<string, number> = {};
    let moved = 0;
    for (const { report } of this.#reports.get(fn) ?? []) {
      decisions[report.phase] = (decisions[report.phase] ?? 0) + 1;
      if (report.actions.some((direction) => direction !== 0)) moved++;
    }
    return { decisions, moved };
  }
}
