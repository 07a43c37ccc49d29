import type { Bytes, Millicores } from '../../../config/index.js';
import type { Limits, WeightRange, WriteResult } from '../../decision/index.js';
import type { ContainerInfo } from './container-engine.js';

/**
 * The limits of one container, on descriptors that stay open. Each setter is synchronous, cannot
 * block, writes nothing when nothing changes, and reads back what it wrote.
 */
export interface LimitHandle {
  setShares(shares: number): WriteResult;
  /** Factors on the container's own weight that the kernel can express. Absent: as v1 shares. */
  weightRange?(): WeightRange;
  /** {@link NO_LIMIT} removes the quota. The period is never changed. */
  setQuota(quota: Millicores): WriteResult;
  /** Raises memory and memory+swap together. `refused`: a reduction, or above the ceiling. */
  raiseMemory(limit: Bytes): WriteResult;
  /** Largest limit with which every group above can keep its promises; Infinity: no limits. */
  memoryCeiling?(): Bytes;
  /** Lowers memory and memory+swap, off the event loop: the kernel reclaims inside the write. */
  lowerMemory(limit: Bytes): Promise<WriteResult>;
  /** v2: protects the lender (`memory.low`); `unsupported` on v1. */
  protectMemory(amount: Bytes): WriteResult;
  /** What the kernel has in force now; false when the cgroup is gone. */
  read(into: Limits): boolean;
  /** False if the swap limit was reset, as systemd does. Absent: swap is not limited. */
  swapHolds?(): boolean;
  repairSwap?(): WriteResult;
  /** systemd has the limits and is writing them. */
  isSettling?(): boolean;
  /** The limits this handle last wrote or read: what drift is measured against. */
  readonly expected: Readonly<Limits>;
  close(): void;
}

/** For {@link LimitHandle.read}. */
export const emptyLimits = (): Limits => ({
  shares: 0,
  quota: 0 as Millicores,
  memory: 0 as Bytes,
});

export interface LimitWriter {
  /** Finds the container's cgroups and opens them. Throws a GleanerError (`GLN_CGROUP_…`). */
  open(container: ContainerInfo): LimitHandle;
  /** The limit the kernel really expresses for a requested weight: v2 weights are coarse. */
  expressible(shares: number): number;
  /**
   * The largest factor on their own weights with which no open container stands above a sibling
   * group that is not managed; Infinity or absent: there is none, 0: not known yet.
   */
  siblingFactor?(): number;
  /** Resolves when systemd has answered every change of every handle. */
  settled?(): Promise<void>;
  /** systemd refused a limit or did not answer: the kernel has it, but systemd may undo it. */
  onScopeFailure?(listener: (container: ContainerInfo, error: unknown) => void): void;
}
