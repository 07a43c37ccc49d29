import { RANGES } from './allocation.js';
import type { Sight } from './system.js';

/** What a base-learner sees (simppo-aware.md §3.6), each in [0, 1]. */
export const AWARE_FEATURES = [
  'cpu utilisation',
  'memory utilisation',
  'SLO preservation',
  'room below the SLO',
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

/** Writes the features of the newest step; `usual`: calls a second as a slow mean, `last`: of the step before. */
export function awareFeatures(sight: Sight, usual: number, last: number, to: Float32Array): void {
  const { allocation } = sight;
  to[0] = clip(sight.cpuUtilisation);
  to[1] = clip(sight.memoryUtilisation);
  to[2] = clip(sight.preservation);
  to[3] = clip(0.5 + 0.25 * Math.log2(sight.slo / sight.p99));
  to[4] = allocation.cpu / RANGES.cpu.most;
  to[5] = allocation.memory / RANGES.memory.most;
  to[6] = allocation.containers / RANGES.containers.most;
  to[7] = clip(sight.rate / Math.max(usual, 1e-9) / 2);
  to[8] = clip(sight.rate / Math.max(last, 1e-9) / 2);
  to[9] = clip(sight.waiting);
  to[10] = clip(0.5 + 0.1 * Math.log2(Math.max(sight.cpuUse, 1e-3)));
  to[11] = sight.oomKills > 0 ? 1 : 0;
}
