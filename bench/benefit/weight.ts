import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Broker, buckets } from '../../broker/index.js';
import { encodeMessage, policyKey } from '../../broker/messages/index.js';
import { SeededRandom } from '../../config/index.js';
import { mean, median, quantile, ratioInterval } from '../../experiments/statistics.js';
import {
  actionSource,
  ensureActionImage,
  InvokerEmulator,
} from '../../simulator/invoker-emulator/index.js';
import { withNats } from '../nats.js';
import { atLeast, type BenchRow, none, row } from '../report.js';
import { traceRows } from '../weight-trace/rows.js';
import { Tracer } from '../weight-trace/tracer.js';
import { type ActionHost, dockerHost, podHost } from './action-hosts.js';
import { GleanerProcess } from './gleaner-process.js';
import { poissonArrivals, type Subject } from './load.js';
import { pairedRounds, type Round, type Solo, soloRuns, warmUp } from './paired-runs.js';
import { PairedTally } from './paired-tally.js';
import { QueueingInvoker } from './queueing-invoker.js';

const run = promisify(execFile);

/** CPU time, ms, and memory, MB: short and long functions at each size, uncorrelated. */
const KINDS: readonly [string, number, number][] = [
  ['w15', 15, 256],
  ['w30', 30, 128],
  ['w60', 60, 512],
  ['w120', 120, 128],
  ['w250', 250, 256],
  ['w500', 500, 512],
  ['w1000', 1000, 128],
  ['w2000', 2000, 256],
  ['w3000', 3000, 512],
];

const PREFIX = 'wskglw0';
/** Of slowdowns, as a ratio to those of the control arm. */
interface Goals {
  readonly mean: string;
  readonly p99: string;
}
const GOALS = {
  docker: { mean: '<= 0.40x', p99: '<= 0.30x' },
  kubernetes: { mean: '<= 0.55x', p99: '<= 0.5x' },
} satisfies Record<string, Goals>;
/** Warm containers of each function. */
const CONTAINERS = 10;
/** Between two cold starts beside the load, s. */
const COLD_EVERY = 8;
/** Of each function alone, at least. */
const SOLO_MILLIS = 2000;
/** Until the audit log and what outsiders did have been written. */
const FLUSH_MILLIS = 1500;

function weightSubjects(body: Subject['body']): Subject[] {
  return KINDS.map(([name, cpuMs, memoryMb]) => ({
    name,
    memoryMb,
    body,
    payload: { cpuMs },
    cpuMs,
    rate: 0,
  }));
}

/** Rates at which every function offers the same part of the load, counted in its own work. */
function withRates(subjects: readonly Subject[], load: number, cores: number): Subject[] {
  return subjects.map((subject) => ({
    ...subject,
    rate: (load * cores * 1000) / subjects.length / subject.cpuMs,
  }));
}

export interface WeightOptions {
  /** `kubernetes`: stock pods on a node that is only for actions; no cold starts beside them. */
  readonly engine: string;
  readonly policy: string;
  /**
   * Of the invoker. At least 28,000: the ninety warm containers have 27 GB by their nominal memory,
   * which they never use.
   */
  readonly userMemoryMb: number;
  /** Between two samples, and so between two revisions of a weight, ms. */
  readonly sampleMs: number;
  /** A third run in each round: the same policy without revision during an activation. */
  readonly withoutRevision: boolean;
  /** Containers or pods with steady work that Gleaner does not manage. */
  readonly siblings: number;
  /** File for the parts of each response time; absent: nothing is traced. */
  readonly trace: string | undefined;
  readonly load: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}

/**
 * Stock containers (memory-proportional shares, no quota): a policy compared with OpenWhisk's
 * weights on the same arrivals. Also measures cold starts, from container start to the end of
 * `/init`, and what work beside them loses that Gleaner does not manage.
 */
export function benchWeight(options: WeightOptions): Promise<BenchRow[]> {
  if (options.trace !== undefined && options.engine !== 'docker')
    throw new Error('--trace needs --engine docker: only its containers can be traced');
  return withNats(async (url, connect) => playWeight(options, url, await connect('bench')));
}

async function playWeight(
  options: WeightOptions,
  server: string,
  broker: Broker,
): Promise<BenchRow[]> {
  const start = options.engine === 'docker' ? dockerHost : podHost;
  const host = await start({ ...options, prefix: PREFIX });
  try {
    const gleaner = new GleanerProcess({
      nats: { servers: [server] },
      // The audit log has every revision: it must not be rotated.
      hook: { ...host.hook, sampleMs: options.sampleMs, auditRotateMiB: 10_240 },
      agents: { manager: 'fixed' },
      decision: { policy: { weight: options.policy }, controlShare: 0 },
    });
    try {
      const tracer = options.trace === undefined ? null : new Tracer(gleaner, PREFIX);
      try {
        return await playOn(options, { host, gleaner, tracer, broker });
      } finally {
        await tracer?.close();
      }
    } finally {
      await gleaner.stop();
    }
  } finally {
    await host.stop();
  }
}

interface Parts {
  readonly host: ActionHost;
  readonly gleaner: GleanerProcess;
  readonly tracer: Tracer | null;
  readonly broker: Broker;
}

async function playOn(
  options: WeightOptions,
  { host, gleaner, tracer, broker }: Parts,
): Promise<BenchRow[]> {
  const { log, policy, withoutRevision } = options;
  const cores = cpus().length;
  const isDocker = options.engine === 'docker';
  const { emulator, outsiders } = host;
  const busyMillis = (): number => host.busyMillis();
  const invoker = new QueueingInvoker(tracer?.wrap(emulator) ?? emulator, CONTAINERS);
  const kinds = weightSubjects(tracer === null ? 'cpu' : 'timedCpu');
  const tally = new PairedTally();
  const arms = { off: new ArmFigures(), on: new ArmFigures(), again: new ArmFigures() };
  const tag = `weight${isDocker ? '' : '.pods'}.load${options.load}`;
  const goals = isDocker ? GOALS.docker : GOALS.kubernetes;
  let revised = 0;
  let begun = 0;
  await warmUp(invoker, kinds, CONTAINERS);
  // Not before: the warm-up's activations are of one length, and Gleaner would learn that of them.
  await gleaner.start();
  const untouched = host.rows(tag);
  const solo = await soloRuns(invoker, kinds, SOLO_MILLIS, busyMillis);
  await tracer?.open();
  await outsiders.start();
  const subjects = withRates(kinds, options.load, cores);
  const whole =
    subjects.reduce((sum, s) => sum + (s.rate * solo.get(s.name)!.cpuMs) / 1000, 0) / cores;
  log(`offered load ${options.load} of ${cores} cores (${whole.toFixed(2)} with action proxies)`);
  const rounds = await pairedRounds({
    ...options,
    invoker,
    gleaner,
    arrivals: (round) =>
      poissonArrivals(subjects, options.seconds, new SeededRandom(options.seed + round)),
    again: withoutRevision,
    prepare: async (arm) => {
      if (withoutRevision) await setRevision(broker, policy, arm === 'on');
      return arm !== 'off';
    },
    busyMillis,
    tally,
    beside: async (arm, round) => {
      tracer?.begin();
      begun = Date.now();
      if (!isDocker) return;
      const found = await coldStarts(options, options.seed * 100 + round);
      arms[arm].cold.push(...found);
    },
    after: async (arm, records) => {
      await new Promise((resolve) => setTimeout(resolve, FLUSH_MILLIS));
      if (arm !== 'again') outsiders.note(arm, begun, begun + options.seconds * 1000);
      const before = revised;
      revised = revisions(gleaner.folder);
      arms[arm].revisions += revised - before;
      await tracer?.end(arm, records);
    },
  });
  const rows = [
    ...weightRows(tag, rounds, subjects, solo, goals),
    ...(isDocker ? coldRows(tag, arms) : []),
    ...outsiders.rows(tag),
    ...tally.rows(tag, whole),
    ...untouched,
  ];
  if (withoutRevision) {
    const atStart = rounds.map(({ off, again }) => ({ off, on: again, again }));
    rows.push(
      ...weightRows(`${tag}.without-revision`, atStart, subjects, solo, goals),
      ...revisionRows(tag, arms),
    );
  }
  if (tracer !== null) {
    const alone = new Map([...solo].map(([name, { responseMs }]) => [name, responseMs]));
    rows.push(...traceRows(`${tag}.trace`, tracer, alone));
    tracer.save(options.trace!);
  }
  return rows;
}

/** What an arm's runs show besides durations. */
class ArmFigures {
  /** Cold starts, ms. */
  readonly cold: number[] = [];
  /** Weights changed during an activation. */
  revisions = 0;
}
type Arms = Readonly<Record<keyof Round, ArmFigures>>;

async function setRevision(broker: Broker, policy: string, revise: boolean): Promise<void> {
  const message = { v: 1, policy, function: null, parameters: { revise }, source: 'bench' };
  await broker.keyValue(buckets.policy).put(policyKey(policy, null), encodeMessage(message));
}

/** Weights that Gleaner has changed during activations so far. */
function revisions(folder: string): number {
  const text = readFileSync(join(folder, 'state/audit.jsonl'), 'utf8');
  return text.split('"why":"revised"').length - 1;
}

const revisionRows = (tag: string, { on, again }: Arms): BenchRow[] => [
  atLeast(
    `${tag}.revisions`,
    on.revisions,
    1,
    'weights changed during activations',
    'the policy has revised nothing',
  ),
  none(
    `${tag}.without-revision.revisions`,
    again.revisions,
    'weights changed during activations',
    'both arms are revised',
  ),
];

/** Cold starts at regular intervals. Removes the containers, so that arms have equal memory. */
async function coldStarts(
  { seconds, userMemoryMb }: WeightOptions,
  seed: number,
): Promise<number[]> {
  const invoker = new InvokerEmulator({
    image: await ensureActionImage(),
    prefix: 'wskglc0',
    userMemoryMb,
  });
  const times: number[] = [];
  try {
    const begun = performance.now();
    for (let i = 0; (i + 1) * COLD_EVERY <= seconds; i++) {
      await new Promise((resolve) =>
        setTimeout(
          resolve,
          Math.max(0, (i + 0.5) * COLD_EVERY * 1000 - (performance.now() - begun)),
        ),
      );
      const name = `cold${seed}x${i}`;
      const result = await invoker.invoke({
        namespace: 'guest',
        name,
        version: '0.0.1',
        ...actionSource('noop'),
      });
      if (!result.ok || !result.containerName) continue;
      times.push(await startToInit(result.containerName, result.runMs));
    }
    return times;
  } finally {
    await invoker.stop();
  }
}

/** From the engine's own stamp of the start to now, less the `/run` that followed `/init`. ms */
async function startToInit(container: string, runMs: number): Promise<number> {
  const now = Date.now();
  const { stdout } = await run('docker', [
    'inspect',
    '--format',
    '{{.State.StartedAt}}',
    container,
  ]);
  return now - runMs - Date.parse(stdout.trim());
}

function weightRows(
  tag: string,
  rounds: Round[],
  subjects: readonly Subject[],
  solo: Map<string, Solo>,
  goals: Goals,
): BenchRow[] {
  const slowdowns = (
    arm: 'on' | 'off',
    names = subjects.map((s) => s.name),
    only?: Round,
  ): number[] =>
    (only ? [only] : rounds).flatMap((round) =>
      names.flatMap((name) =>
        (round[arm].get(name) ?? []).map((record) => record.latencyMs / solo.get(name)!.responseMs),
      ),
    );
  const ratios = rounds.map(
    (round) => mean(slowdowns('on', undefined, round)) / mean(slowdowns('off', undefined, round)),
  );
  const interval = ratioInterval(ratios);
  const rows = [
    row(`${tag}.slowdown.mean`, mean(slowdowns('on')), 'x', {
      baseline: mean(slowdowns('off')),
      goal: goals.mean,
      note:
        `by round ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}: ` +
        `geometric mean ${interval.mean.toFixed(3)} ` +
        `[${interval.low.toFixed(3)}, ${interval.high.toFixed(3)}]`,
    }),
    row(`${tag}.slowdown.p99`, quantile(slowdowns('on'), 0.99), 'x', {
      baseline: quantile(slowdowns('off'), 0.99),
      goal: goals.p99,
    }),
  ];
  for (const { name, memoryMb } of subjects) {
    rows.push(
      row(`${tag}.${name}.mean`, mean(slowdowns('on', [name])), 'x', {
        baseline: mean(slowdowns('off', [name])),
        goal: '<= 1.25x',
        note:
          `${slowdowns('on', [name]).length} activations, ${memoryMb} MB, ` +
          `alone ${solo.get(name)!.responseMs.toFixed(0)} ms`,
      }),
    );
  }
  return rows;
}

function coldRows(tag: string, { on, off }: Arms): BenchRow[] {
  return [
    row(`${tag}.cold.median`, median(on.cold), 'ms', {
      baseline: median(off.cold),
      goal: '<= 0.8x',
      note: `${on.cold.length} and ${off.cold.length} cold starts, start to /init answered`,
    }),
  ];
}
