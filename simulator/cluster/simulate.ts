import { GleanerError } from '../../config/index.js';
import { Cluster } from './cluster.js';
import { type ClusterOptions, DEFAULT_CLUSTER } from './options.js';
import { summarise } from './summarise.js';
import type { RunSummary } from './summary.js';

const SERIES_BUCKETS = 200;

/** The engine plays OpenWhisk as it is; the hook's decisions are not wired into it yet. A run that asks for them is refused, never played without. */
export class ClusterUnmanagedError extends GleanerError {
  readonly code = 'GLN_CLUSTER_UNMANAGED';
}

/**
 * Runs a workload through a cluster and says what came of it. The same options give the same bytes; arrivals and demand are the stream's,
 * so managers are compared on the same calls.
 *
 * @throws ClusterUnmanagedError
 */
export function simulateCluster(options: ClusterOptions): RunSummary {
  const { manager = 'fixed', safeguard = false } = options;
  if (safeguard || manager !== 'fixed') {
    throw new ClusterUnmanagedError('the cluster model plays `fixed` without a hook only, so far', {
      hint: 'Use --manager fixed; `gleaner up` runs managers and policies on one simulated host.',
    });
  }
  const cluster = buildCluster(options);
  cluster.run(Number.POSITIVE_INFINITY);
  report(options, cluster.accounts.ended, cluster.now);
  return summarise(cluster, options);
}

/** The cluster of a run that has not begun. */
export function buildCluster(options: ClusterOptions): Cluster {
  const { onProgress } = options;
  return new Cluster({
    calls: options.calls,
    shape: { ...DEFAULT_CLUSTER, ...options.cluster },
    mode: options.mode ?? 'weight',
    seed: options.seed ?? 1,
    seriesBuckets: options.seriesBuckets ?? SERIES_BUCKETS,
    warmUpMicros: (options.warmUpMs ?? 0) * 1000,
    failures: options.failures ?? [],
    limitChanges: options.limitChanges ?? [],
    recorder: options.recorder ?? null,
    progress: onProgress === undefined ? null : (ended, now) => report(options, ended, now),
  });
}

function report(options: ClusterOptions, activations: number, now: number): void {
  options.onProgress?.({
    activations,
    simulatedMs: now / 1000,
    share: Math.min(1, now / Math.max(1, options.calls.spanMicros)),
  });
}
