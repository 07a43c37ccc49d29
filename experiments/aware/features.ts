import { RANGES } from './allocation.js';
import type { SystemSnapshot } from './system.js';

/** What a base-learner sees (simppo-aware.md §3.6), each in [0, 1]. */
export const AWARE_FEATURES = [
  'cpu utilization',
  'memory utilization',
  'SLO preservation',
  'headroom below the SLO',
  'cpu',
  'memory',
  'containers',
  'load',
  'load change',
  'waiting',
  'cpu demand',
  'killed',
] as const;

const clip = (value: number): number => (value > 0 ? Math.min(1, value) : 0);

/**
 * Writes the features of the newest step; `usual`: calls a second as a slow mean, `last`: of the
 * step before.
 */
export function awareFeatures(
  snapshot: SystemSnapshot,
  typicalRate: number,
  last: number,
  to: Float32Array,
): void {
  const { allocation } = snapshot;
  to[0] = clip(snapshot.cpuUtilization);
  to[1] = clip(snapshot.memoryUtilization);
  to[2] = clip(snapshot.preservation);
  to[3] = clip(0.5 + 0.25 * Math.log2(snapshot.slo / snapshot.p99));
  to[4] = allocation.cpu / RANGES.cpu.most;
  to[5] = allocation.memory / RANGES.memory.most;
  to[6] = allocation.containers / RANGES.containers.most;
  to[7] = clip(snapshot.rate / Math.max(typicalRate, 1e-9) / 2);
  to[8] = clip(snapshot.rate / Math.max(last, 1e-9) / 2);
  to[9] = clip(snapshot.waiting);
  to[10] = clip(0.5 + 0.1 * Math.log2(Math.max(snapshot.cpuUse, 1e-3)));
  to[11] = snapshot.oomKills > 0 ? 1 : 0;
}
