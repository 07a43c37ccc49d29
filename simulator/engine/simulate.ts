import { setFlagsFromString } from 'node:v8';
import { buildCluster, reportProgress } from './build.js';
import type { ClusterOptions } from './options.js';
import { summarize } from './summarize.js';
import type { RunSummary } from './summary.js';

/**
 * Percent by which old objects may grow until V8 collects them: its own factor of up to four is
 * most of the memory of a long run.
 */
const HEAP_GROWTH_PERCENT = 100;

/**
 * Runs a workload through a cluster and returns its summary. The same options give the same bytes.
 * Placement, policies and managers have random streams of their own, so managers are compared on
 * the same activations.
 *
 * @throws UnknownManagerError, UnknownPolicyError
 */
export function simulateCluster(options: ClusterOptions): RunSummary {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  const built = buildCluster(options);
  const { cluster } = built;
  cluster.run(Number.POSITIVE_INFINITY);
  reportProgress(options, cluster.accounts.ended, cluster.now);
  return summarize(built);
}
