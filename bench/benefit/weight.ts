import { execFile } from 'node:child_process';
import { cpus } from 'node:os';
import { promisify } from 'node:util';
import { SeededRandom } from '../../config/index.js';
import {
  actionSource,
  ensureActionImage,
  InvokerEmulator,
} from '../../simulator/invoker-emulator/index.js';
import { type BenchRow, row } from '../report.js';
import { bootstrapInterval, mean, median, quantile } from '../statistics.js';
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

/** Warm containers of each function. */
const CONTAINERS = 10;
/** Between two cold starts beside the load, s. */
const COLD_EVERY = 8;

function weightSubjects(): Subject[] {
  return KINDS.map(([name, cpuMs, memoryMb]) => ({
    name,
    memoryMb,
    body: 'cpu',
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
  readonly policy: string;
  /**
   * Of the invoker. At least 28,000: the ninety warm containers have 27 GB by their nominal memory,
   * which they never use.
   */
  readonly userMemoryMb: number;
  readonly load: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}

/**
 * Stock containers (memory-proportional shares, no quota): a policy compared with OpenWhisk's
 * weights on the same arrivals. Also measures cold starts, from container start to the end of
 * `/init`.
 */
export async function benchWeight(options: WeightOptions): Promise<BenchRow[]> {
  const { log } = options;
  const cores = cpus().length;
  const image = await ensureActionImage();
  const emulator = new InvokerEmulator({
    image,
    prefix: 'wskglw0',
    userMemoryMb: options.userMemoryMb,
    pauseGraceMs: 600_000,
    logs: 'none',
  });
  const invoker = new QueueingInvoker(emulator, CONTAINERS);
  const gleaner = new GleanerProcess({
    hook: { containerPrefix: 'wskgl' },
    decision: { policy: { weight: options.policy }, controlShare: 0 },
  });
  const tally = new PairedTally();
  const cold = { on: [] as number[], off: [] as number[] };
  const tag = `weight.load${options.load}`;
  try {
    await emulator.start();
    await gleaner.start();
    await warmUp(invoker, weightSubjects(), CONTAINERS);
    const solo = await soloRuns(invoker, weightSubjects());
    const subjects = withRates(weightSubjects(), options.load, cores);
    const whole =
      subjects.reduce((sum, s) => sum + (s.rate * solo.get(s.name)!.cpuMs) / 1000, 0) / cores;
    log(`offered load ${options.load} of ${cores} cores (${whole.toFixed(2)} with action proxies)`);
    const rounds = await pairedRounds({
      ...options,
      invoker,
      gleaner,
      arrivals: (round) =>
        poissonArrivals(subjects, options.seconds, new SeededRandom(options.seed + round)),
      again: false,
      tally,
      beside: async (on, round) => {
        const found = await coldStarts(image, options, options.seed * 100 + round);
        (on ? cold.on : cold.off).push(...found);
      },
    });
    return [
      ...weightRows(tag, rounds, subjects, solo),
      ...coldRows(tag, cold),
      ...tally.rows(tag, whole),
    ];
  } finally {
    await gleaner.stop();
    await emulator.stop();
  }
}

/** Cold starts at regular intervals. Removes the containers, so that arms have equal memory. */
async function coldStarts(
  image: string,
  { seconds, userMemoryMb }: WeightOptions,
  seed: number,
): Promise<number[]> {
  const invoker = new InvokerEmulator({
    image,
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
  const interval = bootstrapInterval(ratios, mean, new SeededRandom(1));
  const rows = [
    row(`${tag}.slowdown.mean`, mean(slowdowns('on')), 'x', {
      baseline: mean(slowdowns('off')),
      goal: '<= 0.5x',
      note:
        `by round ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}: ` +
        `mean ${mean(ratios).toFixed(3)} [${interval.low.toFixed(3)}, ${interval.high.toFixed(3)}]`,
    }),
    row(`${tag}.slowdown.p99`, quantile(slowdowns('on'), 0.99), 'x', {
      baseline: quantile(slowdowns('off'), 0.99),
      goal: '<= 0.4x',
    }),
  ];
  for (const { name, memoryMb } of subjects) {
    rows.push(
      row(`${tag}.${name}.mean`, mean(slowdowns('on', [name])), 'x', {
        baseline: mean(slowdowns('off', [name])),
        goal: '<= 1.25x',
        note:
          `${slowdowns('on', [name]).length} calls, ${memoryMb} MB, ` +
          `alone ${solo.get(name)!.responseMs.toFixed(0)} ms`,
      }),
    );
  }
  return rows;
}

function coldRows(tag: string, cold: { on: number[]; off: number[] }): BenchRow[] {
  return [
    row(`${tag}.cold.median`, median(cold.on), 'ms', {
      baseline: median(cold.off),
      goal: '<= 0.8x',
      note: `${cold.on.length} and ${cold.off.length} cold starts, start to /init answered`,
    }),
  ];
}
