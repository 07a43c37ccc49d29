import { buildCluster, reportProgress } from './build.js';
import type { ClusterOptions } from './options.js';
import { summarize } from './summarize.js';
import type { RunSummary } from './summary.js';

/**
 * Runs a workload through a cluster and returns its summary. The same options give the same bytes.
 * Placement, policies and managers have random streams of their own, so managers are compared on
 * the same activations.
 *
 * @throws UnknownManagerError, UnknownPolicyError
 */
export function simulateCluster(options: ClusterOptions): RunSummary {
  const built = buildCluster(options);
  const { cluster } = built;
  cluster.run(Number.POSITIVE_INFINITY);
  reportProgress(options, cluster.accounts.ended, cluster.now);
  return summarize(built);
}
