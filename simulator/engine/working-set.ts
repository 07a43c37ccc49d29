/**
 * Memory of one container: the working set grows with the work done, from the resident size to the
 * activation's peak. It excludes page cache, the only memory that the kernel could reclaim, so
 * reaching the limit means an OOM kill.
 */

/**
 * Working set after a share `progress` of the CPU work, bytes.
 * @param growth the share of the work at which the peak is reached; 0 = at once
 */
export function workingSetAt(
  resident: number,
  peak: number,
  growth: number,
  progress: number,
): number {
  if (peak <= resident) return resident;
  if (growth <= 0 || progress >= growth) return peak;
  return resident + ((peak - resident) * Math.max(0, progress)) / growth;
}

/**
 * The share of the work at which the working set passes `limit`: 0 = at once, Infinity = never.
 * `limit` 0 = none.
 */
export function progressAtLimit(
  resident: number,
  peak: number,
  growth: number,
  limit: number,
): number {
  if (limit <= 0 || Math.max(resident, peak) <= limit) return Number.POSITIVE_INFINITY;
  if (resident > limit || growth <= 0) return 0;
  return (growth * (limit - resident)) / (peak - resident);
}

/** Working set of the warm container after the activation, bytes. */
export function residentAfter(base: number, workingSet: number, retained: number): number {
  return base + Math.max(0, workingSet - base) * retained;
}
