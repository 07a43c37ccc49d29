import { setTimeout as sleep } from 'node:timers/promises';
import { type Broker, wildcards } from '../../broker/index.js';
import { type AgentReport, decodeAgentReport } from '../../broker/messages/index.js';
import { type Random, SeededRandom } from '../../config/index.js';
import { sum } from '../../experiments/statistics.js';
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
  type ActivationRecord,
  ARMS,
  type Arm,
  type ArmRecord,
  addRound,
  MODES,
  type Mode,
  perMode,
  type RoundRecord,
  readRounds,
} from './records.js';
import { learningFigures, newFunctionRows } from './rounds-rows.js';

const PREFIX = 'wskgln0';
/** Memory for the containers of three rounds, so that no evictions disturb the comparison. */
const USER_MEMORY_MB = 6144;
/** Between two activations of a new function, ms. */
const EVERY_MS = 150;
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

/** Activations of a new function: different sizes in the same order in each arm. */
const NEW: Omit<Subject, 'name'> = {
  memoryMb: 256,
  body: 'cpu',
  payload: {},
  cpuMs: 60,
  rate: 1000 / EVERY_MS,
};
const SIZES = [40, 60, 80, 50];

/**
 * A decision per activation, and a short life cycle, so that a new function is online for most of
 * the run. The shipped life cycle stays offline for a thousand steps of up to 20 activations.
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
 * Two new functions, with a quota and without, in a running system on real containers: without
 * Gleaner's writes, with the fallback, and with `aware` while it learns.
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
      agents: { manager: 'fixed', aware: LIFE_CYCLE },
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
          await gleaner.setWrites(arm !== 'nothing');
          const random = new SeededRandom(seed).fork(`${round}`);
          arms[arm] = await playArm(invoker, { arm, round, seconds, random, watch, log });
        }
        const played = {
          round,
          arms: arms as Record<Arm, ArmRecord>,
          decisions: perMode((mode) => watch.decisionsOf(`/guest/${nameOf('aware', round, mode)}`)),
        };
        log(textOf(played));
        kept = addRound(records, kept, played);
      }
      return [
        ...newFunctionRows(kept),
        ...ARMS.flatMap((arm) =>
          MODES.map((mode) =>
            atLeast(
              `new.${mode}.${arm}.activations`,
              Math.min(...kept.map(({ arms }) => arms[arm][mode].filter(({ ok }) => ok).length)),
              100,
              'activations of an arm that succeeded',
              'too few activations for a p99',
            ),
          ),
        ),
        ...MODES.map((mode) =>
          atLeast(
            `new.${mode}.decisions`,
            Math.min(...kept.map(({ decisions }) => sum(Object.values(decisions[mode].phases)))),
            1,
            'decisions of manager aware in a round',
            'the manager that is measured decided nothing',
          ),
        ),
      ];
    } finally {
      await gleaner.stop();
      await invoker.stop();
    }
  });
}

/**
 * Activates each function once, one after another: concurrent cold starts would overload two cores.
 */
async function warmUp(invoker: InvokerEmulator, actions: readonly Action[]): Promise<void> {
  for (const action of actions) await invoker.invoke(action, { cpuMs: SIZES[0], sleepMs: 1 });
}

/** The name selects its manager. */
const nameOf = (arm: Arm, round: number, mode: Mode): string => `new-${arm}-${round}-${mode}`;

function rotated<T>(values: readonly T[], by: number): T[] {
  const first = by % values.length;
  return [...values.slice(first), ...values.slice(0, first)];
}

interface ArmPlan {
  readonly arm: Arm;
  readonly round: number;
  readonly seconds: number;
  readonly random: Random;
  readonly watch: AgentWatch;
  readonly log: (line: string) => void;
}

/** The same activations in each arm. */
async function playArm(invoker: InvokerEmulator, plan: ArmPlan): Promise<ArmRecord> {
  const { arm, round, seconds, random, watch, log } = plan;
  const actions = MODES.map((mode) =>
    actionOf({
      ...NEW,
      ...(mode === 'quota' ? { cpus: 1 } : {}),
      name: nameOf(arm, round, mode),
    }),
  );
  await warmUp(invoker, actions);
  const count = Math.floor((1000 * seconds) / EVERY_MS);
  const [running, ...fresh] = await Promise.all([
    playWorkload(invoker, poissonArrivals(RUNNING, seconds, random)),
    ...actions.map((action, i) => activateOneByOne(invoker, action, count, (i * EVERY_MS) / 2)),
  ]);
  const recordsOf = (mode: Mode): ActivationRecord[] => {
    const name = nameOf(arm, round, mode);
    return fresh[MODES.indexOf(mode)]!.map(({ result, cpuMs, at }) => {
      if (!result.ok) log(failureText(name, result));
      const phase = watch.phaseOf(`/guest/${name}`, at);
      return { slowdown: result.runMs / cpuMs, ok: result.ok, phase };
    });
  };
  return {
    ...perMode(recordsOf),
    running: running.map((result): ActivationRecord => {
      const { action, runMs, ok } = result;
      if (!ok) log(failureText(action, result));
      return { slowdown: runMs / (SOLO_MS[action] ?? Number.NaN), ok, phase: 'managing' };
    }),
  };
}

interface NewActivation {
  readonly result: ActivationResult;
  readonly cpuMs: number;
  /** When it was sent, a reading of `performance.now()`. */
  readonly at: number;
}

/**
 * A client that activates every `EVERY_MS` and waits for each answer, so that one container serves.
 */
async function activateOneByOne(
  invoker: InvokerEmulator,
  action: Action,
  count: number,
  delayMs: number,
): Promise<NewActivation[]> {
  const activations: NewActivation[] = [];
  const began = performance.now() + delayMs;
  for (let i = 0; i < count; i++) {
    const wait = began + i * EVERY_MS - performance.now();
    if (wait > 0) await sleep(wait);
    const cpuMs = SIZES[i % SIZES.length]!;
    const at = performance.now();
    activations.push({ result: await invoker.invoke(action, { cpuMs }), cpuMs, at });
  }
  return activations;
}

const failureText = (
  fn: string,
  { waitMs, runMs, kind, result, containerName, cold }: ActivationResult,
): string =>
  `  ${fn} in ${containerName}${cold ? ', cold' : ''}: ${kind} ` +
  `after ${waitMs.toFixed(0)} + ${runMs.toFixed(0)} ms: ${JSON.stringify(result)}`;

const textOf = (round: RoundRecord): string =>
  MODES.map((mode) => {
    const { p99, above } = learningFigures(round, mode);
    const figures = ARMS.map((arm) => `${arm} ${p99[arm].toFixed(3)}`).join(', ');
    const { phases, moved } = round.decisions[mode];
    const counts = Object.entries(phases).map(([phase, count]) => `${phase} ${count}`);
    return (
      `round ${round.round}, ${mode}: p99 ${figures}, above ${above.toFixed(3)}; ` +
      `${counts.join(', ')}, moved ${moved}`
    );
  }).join('\n');

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

  decisionsOf(fn: string): RoundRecord['decisions'][Mode] {
    const phases: Record<string, number> = {};
    let moved = 0;
    for (const { report } of this.#reports.get(fn) ?? []) {
      phases[report.phase] = (phases[report.phase] ?? 0) + 1;
      if (report.actions.some((direction) => direction !== 0)) moved++;
    }
    return { phases, moved };
  }
}
