import type { Limits, WriteResult } from '../../decision/index.js';
import type { LimitHandle } from '../ports/index.js';

/** A handle that also watches swap; others are watched for their limits only. */
export interface DriftHandle extends LimitHandle {
  swapHolds?(): boolean;
  repairSwap?(): WriteResult;
  /** systemd has its limits and is writing them. */
  isSettling?(): boolean;
}

/** Millicores: what rounding a quota to whole microseconds can make. */
export const QUOTA_ROUNDING = 0.02;

/**
 * `gone`: the cgroup is not there any more. `swap`: swap came back for exactly OpenWhisk's flags.
 */
export type Drift = 'none' | 'limits' | 'swap' | 'gone';

/**
 * Compares the last written limits with the kernel's, read into `found` (a quota that differs only
 * by rounding is set to the expected one): systemd's daemon-reload, an operator or a half-applied
 * engine call may undo limits.
 */
export function findDrift(handle: DriftHandle, found: Limits): Drift {
  const { shares, quota, memory } = handle.expected;
  if (!handle.read(found)) return 'gone';
  if (handle.isSettling?.() === true) return 'none';
  if (Math.abs(found.quota - quota) <= QUOTA_ROUNDING) found.quota = quota;
  if (found.shares !== shares || found.quota !== quota || found.memory !== memory) return 'limits';
  return handle.swapHolds?.() === false ? 'swap' : 'none';
}
