import { SeededRandom } from '../../../config/index.js';
import {
  type ClusterOptions,
  ClusterOutcome,
  type RunSummary,
  StartKind,
  type Statistics,
} from '../../../simulator/engine/index.js';
import { ActivationBlock } from '../../../simulator/workload/index.js';

/** What a contender makes of an activation's slowdown above one; the rest is as fixed. */
const TOY: Readonly<Record<string, number>> = {
  'short-first': 0.2,
  'smallest-in-range': 0.9,
  greedy: 1.5,
};

const flat = (values: readonly number[]): Statistics => {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  return { mean, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
};

/**
 * Not a cluster: each activation takes its time alone, times one plus something drawn by seed,
 * times what its contender is said to do. For tests of everything around an engine.
 */
export function toyEngine(options: ClusterOptions): RunSummary {
  const {
    activations,
    seed = 1,
    quotaPolicy = '',
    weightPolicy = '',
    recorder,
    seriesBuckets = 4,
  } = options;
  const manager = typeof options.manager === 'string' ? options.manager : 'fixed';
  const mode = options.mode ?? 'weight';
  const policy = mode === 'weight' ? weightPolicy : quotaPolicy;
  const factor = TOY[manager] ?? TOY[policy] ?? 1;
  const random = new SeededRandom(seed);
  const block = new ActivationBlock();
  const slowdowns: number[] = [];
  const responses: number[] = [];
  const perFunction = activations.functions.map(() => ({ activations: 0, slowdown: 0 }));
  let work = 0;
  let activation = 0;
  for (let count = activations.fill(block); count > 0; count = activations.fill(block)) {
    for (let i = 0; i < count; i++) {
      const fn = block.fn[i]!;
      const solo =
        block.cpu[i]! / activations.functions[fn]!.profile.parallelism + block.io[i]! + 1;
      // The first function pays for what others gain.
      const slowdown = 1 + random.next() * (fn === 0 ? 2 - factor : factor);
      const response = solo * slowdown;
      slowdowns.push(slowdown);
      responses.push(response / 1000);
      work += block.cpu[i]!;
      perFunction[fn]!.activations++;
      perFunction[fn]!.slowdown += slowdown;
      recorder?.record({
        activation: activation++,
        fn,
        host: 0,
        start: StartKind.warm,
        outcome: ClusterOutcome.success,
        arrivedAt: block.arrival[i]!,
        placedAt: block.arrival[i]!,
        runAt: block.arrival[i]!,
        endedAt: block.arrival[i]! + response,
        cpu: block.cpu[i]!,
        soloMicros: solo,
        userMicros: solo,
      });
    }
  }
  const { hosts = 30, cores = 8, userMemoryMiB = 24_576 } = options.cluster ?? {};
  const buckets = (value: number): number[] =>
    Array.from({ length: seriesBuckets }, (_, i) => value * (1 + i / 10));
  const isManaged = manager !== 'fixed' || policy === 'smallest-in-range';
  return {
    manager,
    mode,
    safeguard: options.safeguard ?? false,
    quotaPolicy,
    weightPolicy,
    seed,
    hosts,
    cores,
    userMemoryMiB,
    functions: activations.functions.length,
    spanMs: activations.spanMicros / 1000,
    endedAtMs: activations.spanMicros / 1000,
    offeredLoad: work / (activations.spanMicros * hosts * cores),
    utilization: 0.6,
    activations: slowdowns.length,
    outcomes: { success: slowdowns.length, timeout: 0, outOfMemory: 0, lost: 0, rejected: 0 },
    slowdown: flat(slowdowns),
    rfet: flat(slowdowns),
    responseMs: flat(responses),
    slowShare: slowdowns.filter((value) => value > 1.2).length / slowdowns.length,
    starts: { cold: Math.round(1e6 / userMemoryMiB), prewarmed: 0, warm: 0 },
    coldShare: Math.min(1, 1000 / userMemoryMiB),
    waited: 0,
    waitMeanMs: 0,
    oomKills: 0,
    harvest: {
      harvestedCoreSeconds: isManaged ? 100 : 0,
      acceleratedCoreSeconds: isManaged ? 20 : 0,
      borrowedCoreSeconds: isManaged ? 40 : 0,
      demandCoreSeconds: isManaged ? 80 : 0,
      savedSeconds: isManaged ? 12 : 0,
      harvestedShare: isManaged ? 0.4 : 0,
      acceleratedShare: isManaged ? 0.1 : 0,
      borrowedShare: isManaged ? 0.2 : 0,
      trips: 0,
      control: 0,
      revoked: 0,
    },
    worst: { name: activations.functions[0]!.name, slowdown: 3, activations: 20 },
    slo: { functions: activations.functions.length, missed: 1, activations: 100, late: 3 },
    perFunction: perFunction.map((sum, i) => ({
      name: activations.functions[i]!.name,
      activations: sum.activations,
      meanSlowdown: sum.activations === 0 ? 0 : sum.slowdown / sum.activations,
      p99Slowdown: 2,
      p99Ms: 100 + 10 * i * factor,
      sloMs: 120,
      late: 0,
      coldStarts: 0,
      oomKills: 0,
      failures: 0,
      harvested: 0,
      accelerated: 0,
    })),
    series: {
      bucketMs: activations.spanMicros / 1000 / seriesBuckets,
      utilization: buckets(0.5),
      harvested: buckets(isManaged ? 4 : 0),
      borrowed: buckets(isManaged ? 2 : 0),
      demand: buckets(isManaged ? 5 : 0),
      waiting: buckets(0),
      running: buckets(10),
      containers: buckets(20),
    },
  };
}
