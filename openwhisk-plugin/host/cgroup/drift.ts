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

/** `gone`: the cgroup is removed. `swap`: systemd has reset the swap limit. */
export type Drift = 'none' | 'limits' | 'swap' | 'gone';

/**
 * Compares the last written limits with the kernel's, read into `found`; systemd's daemon-reload or
 * an operator may undo limits. A quota that differs only by rounding becomes the expected one.
 */
export function findDrift(handle: DriftHandle, found: Limits): Drift {
  const { shares, quota, memory } = handle.expected;
  if (!handle.read(found)) return 'gone';
  if (handle.isSettling?.() === true) return 'none';
  if (Math.abs(found.quota - quota) <= QUOTA_ROUNDING) found.quota = quota;
  if (found.shares !== shares || found.quota !== quota || found.memory !== memory) return 'limits';
  return handle.swapHolds?.() === false ? 'swap' : 'none';
}
