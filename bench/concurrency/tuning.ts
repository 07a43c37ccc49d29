import {
  ConcurrencyTuners,
  type LimitGrid,
  type LimitSearch,
  Q_DEFAULT,
  type QLearningSettings,
  qLearning,
  type TableStore,
  TUNER_DEFAULT,
} from '../../agents/tuning/index.js';
import { silentLogger } from '../../broker/index.js';
import { LatencyHistogram, type Observation } from '../../broker/messages/index.js';
import {
  type Millis,
  mebibytes,
  millicores,
  SeededRandom,
  systemClock,
} from '../../config/index.js';
import { figuresOf } from '../farm/figures.js';
import { syntheticObservation } from '../observation.js';
import { ActivationRecorder } from './activation-recorder.js';
import { type Activation, Callers } from './callers.js';
import { emulatorFor, PREFIX, until } from './cell.js';
import { actionAt, MEMORY_MB, type Payload } from './profiles.js';

/** Revision of the user; changes by the tuner raise the action's version only. */
const REVISION = '0.0.1';
export interface TuningOptions {
  readonly image: string;
  readonly name: string;
  readonly payload: Payload;
  readonly grid: LimitGrid;
  readonly start: number;
  readonly seed: number;
  /**
   * Times that the search is asked, exploring as it does; then it is followed without exploring.
   */
  readonly iterations: number;
  /** Times that the table is followed then. */
  readonly followed: number;
  /** Length of an observation, ms: the first at a new limit does not count, the next is judged. */
  readonly stepMs: number;
  readonly core: number | null;
}

export interface Tuning {
  /** Limits at each search step while exploring. */
  readonly limits: readonly number[];
  /** Limit after following the table without exploring. */
  readonly final: number;
  /** Rows of the Q-table that was kept. */
  readonly states: number;
  /**
   * Most activations that the function saw beside each other at any limit; the highest limit that
   * was in force.
   */
  readonly maxConcurrent: number;
  readonly highest: number;
  readonly succeeded: number;
  readonly activations: number;
  readonly seconds: number;
}

/** Keeps tables as an object store does. */
class MemoryTableStore implements TableStore {
  readonly tables = new Map<string, Uint8Array>();

  async put(name: string, data: Uint8Array): Promise<void> {
    this.tables.set(name, data);
  }

  async get(name: string): Promise<Uint8Array | null> {
    return this.tables.get(name) ?? null;
  }

  /** Rows of the one Q-table. */
  get states(): number {
    // Beside it lies what the guard knows, under a name of its own.
    const [, text] = [...this.tables].find(([name]) => name.startsWith('concurrency.')) ?? [];
    if (text === undefined) return 0;
    const { learned } = JSON.parse(Buffer.from(text).toString('utf8')) as {
      learned: { table: object };
    };
    return Object.keys(learned.table).length;
  }
}

/** The product's tuner on one real container. Each new limit is a revision with a new container. */
export async function tuneForReal(options: TuningOptions): Promise<Tuning> {
  const { image, name, payload, grid, start, seed, iterations, followed, stepMs, core } = options;
  const emulator = emulatorFor(image);
  const recorder = new ActivationRecorder(PREFIX, core);
  const tableStore = new MemoryTableStore();
  const random = new SeededRandom(seed);
  const begun = performance.now();
  let limit = start;
  let highest = start;
  let revision = 1;
  let step = 0;
  const totals = { activations: 0, ok: 0 };
  const limits: number[] = [];
  try {
    await emulator.start();
    await recorder.start();
    const callers = new Callers(emulator, actionAt(name, limit, revision), payload, grid.most + 10);
    await callers.first();
    await recorder.pinned();
    callers.start();
    let cpuBefore = cpuMillis(recorder);
    let from = performance.now();
    /** One observation; true where the search was asked. */
    const observe = async (tuners: ConcurrencyTuners): Promise<boolean> => {
      await until(from + stepMs);
      const span = performance.now() - from;
      from = performance.now();
      const activations = callers.take();
      totals.activations += activations.length;
      totals.ok += activations.filter(({ ok }) => ok).length;
      const cpu = cpuMillis(recorder);
      const used = { cpuMillis: Math.max(0, cpu - cpuBefore), rss: rss(recorder) };
      cpuBefore = cpu;
      const observation = observationOf(`/guest/${name}`, ++step, span, activations, used);
      const platform = { limit, least: grid.least, most: grid.most, revision: REVISION };
      tuners.observe(observation, platform, 'serving', systemClock.monotonic());
      const [tuned] = tuners.tuned();
      const asked = tuned?.reason === 'searched';
      if (tuned !== undefined && tuned.targetLimit !== limit) {
        limit = tuned.targetLimit;
        highest = Math.max(highest, limit);
        callers.action = actionAt(name, limit, ++revision);
      }
      return asked;
    };
    const tunersOf = (settings: QLearningSettings, label: string): ConcurrencyTuners =>
      new ConcurrencyTuners({
        search: qLearning(settings) as LimitSearch,
        settings: { ...TUNER_DEFAULT, grid, hold: { time: 0.8 * stepMs, activations: 20 } },
        store: tableStore,
        random: random.fork(label),
        functions: 1,
        logger: silentLogger,
      });
    const exploring = tunersOf(Q_DEFAULT, 'exploring');
    while (limits.length < iterations) {
      const before = limit;
      if (await observe(exploring)) limits.push(before);
    }
    // The stored table, without random steps.
    const following = tunersOf(
      { ...Q_DEFAULT, epsilon: { until: 0, factor: 1e-9, floor: 0 } },
      'following',
    );
    for (let asked = 0; asked < followed; ) if (await observe(following)) asked++;
    await callers.stop();
    return {
      limits,
      final: limit,
      states: tableStore.states,
      maxConcurrent: callers.maxConcurrent,
      highest,
      succeeded: totals.ok,
      activations: totals.activations,
      seconds: (performance.now() - begun) / 1000,
    };
  } finally {
    await recorder.stop();
    await emulator.stop();
  }
}

const cpuMillis = ({ pids }: ActivationRecorder): number =>
  pids.reduce((sum, pid) => sum + (figuresOf(pid)?.cpuMillis ?? 0), 0);
const rss = ({ pids }: ActivationRecorder): number =>
  Math.max(0, ...pids.map((pid) => figuresOf(pid)?.rss ?? 0));

/** The observation that a hook would send for these activations. */
function observationOf(
  fn: string,
  step: number,
  span: number,
  activations: readonly Activation[],
  used: { readonly cpuMillis: number; readonly rss: number },
): Observation {
  const latency = new LatencyHistogram();
  for (const { runMs } of activations) latency.record(runMs);
  const cpu = millicores((1000 * used.cpuMillis) / span);
  const memory = mebibytes(used.rss);
  const user = { cpu: millicores(1000), memory: mebibytes(MEMORY_MB), shares: 1024 };
  return {
    ...syntheticObservation(fn, step),
    span: span as Millis,
    activations: activations.length,
    failures: activations.filter(({ ok }) => !ok).length,
    latency: latency.toMessage(),
    peak: { cpu, memory },
    used: { cpu, memory },
    user,
    containers: 1,
  };
}
