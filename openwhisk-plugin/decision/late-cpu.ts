import type { Run } from './container-state.js';

/**
 * What a container may use after an answer without any consequence, us: runtimes collect garbage
 * and write logs then.
 */
export const FREE_LATE_CPU = 20_000;

/**
 * CPU-ms that a run counts with; NaN = unknown. What its container has used since the answer before
 * counts with it: otherwise a function that answers before it works would look short for good.
 */
export function cpuTimeOf({ startCpu, endCpu, lateCpu, concurrency }: Run): number {
  if (startCpu < 0 || endCpu < startCpu) return Number.NaN;
  const late = lateCpu > FREE_LATE_CPU ? lateCpu : 0;
  return (endCpu - startCpu + late) / 1000 / concurrency;
}
