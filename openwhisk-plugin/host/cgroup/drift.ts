import type { Limits, UserLimits } from '../../decision/index.js';
import type { LimitHandle } from '../ports/index.js';
import { wholePages } from './limit-handle.js';
import { samePages } from './pages.js';

/** Millicores: what rounding a quota to whole microseconds can make. */
export const QUOTA_ROUNDING = 0.02;

/** Whether limits differ from the user's by more than the kernel's rounding. */
export const differsFromUser = (limits: Readonly<Limits>, user: UserLimits): boolean =>
  limits.shares !== user.shares ||
  Math.abs(limits.quota - user.quota) > QUOTA_ROUNDING ||
  !samePages(wholePages(limits.memory), wholePages(user.memory));

/** `gone`: the cgroup is removed. `swap`: systemd has reset the swap limit. */
export type Drift = 'none' | 'limits' | 'swap' | 'gone';

/**
 * Compares the last written limits with the kernel's, read into `found`. A quota that differs only
 * by rounding becomes the expected one.
 */
export function findDrift(handle: LimitHandle, found: Limits): Drift {
  const { shares, quota, memory } = handle.expected;
  if (!handle.read(found)) return 'gone';
  if (handle.isSettling?.() === true) return 'none';
  if (Math.abs(found.quota - quota) <= QUOTA_ROUNDING) found.quota = quota;
  if (found.shares !== shares || found.quota !== quota || found.memory !== memory) return 'limits';
  return handle.swapHolds?.() === false ? 'swap' : 'none';
}
