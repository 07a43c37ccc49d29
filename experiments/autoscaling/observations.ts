import { LATENCY_BUCKETS, type Observation } from '../../broker/messages/index.js';
import type { Bytes, Millicores, Millis } from '../../config/index.js';
import { SIMPPO_SIZES } from './agent/settings.js';
import type { ScaledState, ScalingCluster } from './scaling-cluster.js';

/** The part of a row of buckets that is not empty, as messages carry it. */
function latencyOf(buckets: Int32Array, sum: number, max: number): Observation['latency'] {
  let first = 0;
  while (first < LATENCY_BUCKETS && buckets[first] === 0) first++;
  if (first === LATENCY_BUCKETS) return { first: 0, counts: [], sum: 0, max: 0 };
  let last = LATENCY_BUCKETS - 1;
  while (buckets[last] === 0) last--;
  return { first, counts: [...buckets.subarray(first, last + 1)], sum, max };
}

/**
 * A step as an observation for the product's managers; the first size stands for the user limit.
 * `latency`: as a hook's tap measures it (`run`), or as a proxy in the path would (`response`).
 */
export function observationOfState(
  { fn, queue, held, slo }: ScaledState,
  cluster: ScalingCluster,
  latency: 'run' | 'response',
): Observation {
  const { window } = queue;
  const { stepMs } = cluster.options;
  const { first } = SIMPPO_SIZES;
  const sum = latency === 'run' ? window.runSum : window.responseSum;
  const buckets = latency === 'run' ? window.runs : window.responses;
  const max = latency === 'run' ? window.runMax : window.responseMax;
  const cpu = held.cpu as Millicores;
  const memory = held.memory as Bytes;
  const spread = <T>(value: T) => ({ min: value, mean: value, max: value });
  const ended = window.ended;
  const amounts = (millicores: number, bytes: number) => ({
    cpu: millicores as Millicores,
    memory: Math.round(bytes) as Bytes,
  });
  const running = queue.serving + queue.waiting;
  return {
    v: 1,
    function: fn.name,
    host: 'cluster',
    boot: 'autoscaling',
    step: Math.round(cluster.now / stepMs),
    observedAt: cluster.now as Millis,
    span: stepMs as Millis,
    mode: 'enforce',
    cpuMode: 'quota',
    activations: ended,
    coldStarts: window.coldStarts,
    failures: window.killed + window.lost,
    oomKills: window.killed,
    running,
    latency: latencyOf(buckets, sum, max),
    peak: amounts(ended > 0 ? Math.min(held.cpu, 1000 * fn.parallelism) : 0, window.peakMax),
    used: amounts(
      sum > 0 ? (1000 * window.cpu) / sum : 0,
      ended > 0 ? window.peakSum / (ended + window.killed) : 0,
    ),
    throttledShare: 0,
    user: { ...amounts(first.cpu, first.memory), shares: first.cpu },
    granted: { cpu: spread(cpu), memory: spread(memory) },
    demand: amounts(held.cpu, held.memory),
    containers: held.containers,
    concurrency: 1,
    control: { activations: 0, mean: 0, p99: 0 },
    slo: slo as Millis,
  };
}
