import type { Bytes, Millicores } from '../../config/index.js';

/** "No limit", for a quota or a memory limit, as in the Engine's API. */
export const NO_LIMIT = 0;

/** Limits of one container. `shares` is a cgroup-v1 weight, whatever the host's cgroup version. */
export interface Limits {
  shares: number;
  /** {@link NO_LIMIT} = may use the whole host. */
  quota: Millicores;
  /** Hard limit of memory; swap is limited to the same sum. {@link NO_LIMIT} = none. */
  memory: Bytes;
}

/** User limits: the engine's inspect output, since Gleaner never writes to the engine. */
export interface UserLimits extends Readonly<Limits> {
  /** Memory plus swap; OpenWhisk always makes it equal to `memory`. */
  readonly memoryAndSwap: Bytes;
  /** Made without shares: `shares` is the kernel's default (1024), on cgroup v2 a weight of 100. */
  readonly sharesUnset?: boolean;
  /** On Kubernetes: `shares` are 1024 per requested core, not a part of the invoker's memory. */
  readonly sharesAreRequest?: boolean;
  /** CFS period, us: `CFS_PERIOD_MICROS` unless the container was made with another. */
  readonly periodMicros: number;
}

/** False: the shares show nothing of the invoker's memory. */
export const sharesFollowMemory = (user: UserLimits): boolean =>
  user.sharesUnset !== true && user.sharesAreRequest !== true;

/** How a write ended. After `written` and `unchanged` the limit is in force: it was read back. */
export type WriteResult =
  | 'written'
  | 'unchanged'
  /** The cgroup has vanished: the container ended. */
  | 'gone'
  /** The kernel refused (EBUSY, EINVAL): the old limit stands. */
  | 'refused'
  /** Written without an error, but the file says something else. */
  | 'not_effective'
  /** This host cannot do it (no such controller). */
  | 'unsupported';
