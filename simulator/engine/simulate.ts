import { buildCluster, reportProgress } from './build.js';
import type { ClusterOptions } from './options.js';
import { summarize } from './summarize.js';
import type { RunSummary } from './summary.js';

/**
 * Runs a workload through a cluster and says what came of it. The same options give the same bytes;
 * arrivals and demand are the stream's, placement, policies and managers have random streams of
 * their own, so managers are compared on the same calls.
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
