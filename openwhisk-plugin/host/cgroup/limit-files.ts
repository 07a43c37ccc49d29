import type { WriteError } from './control-file.js';
import type { MemoryGuarantees } from './memory-ceiling.js';

/**
 * What the worker thread needs to lower a memory limit: paths, because a descriptor could be closed
 * and handed on meanwhile.
 */
export interface MemoryPaths {
  readonly version: 1 | 2;
  readonly limit: string;
  /** v1: memory + swap together, v2: swap alone; null where the kernel does not account swap. */
  readonly swap: string | null;
  readonly usage: string;
  readonly stat: string;
  readonly events: string;
}

/**
 * The limit files of one container in the kernel's own units, either version. Numbers: UNLIMITED
 * for none, UNREADABLE when the cgroup is gone. Files that the kernel does not offer make
 * `hasWeight`, `hasQuota`, `hasMemory` false, and are not to be used then: each is separate,
 * since kernels without CONFIG_CFS_BANDWIDTH have weights and no quotas.
 */
export interface LimitFiles {
  readonly version: 1 | 2;
  readonly hasWeight: boolean;
  readonly hasQuota: boolean;
  readonly hasMemory: boolean;
  /** us; never written. */
  readonly period: number;
  /** v1 shares, v2 weight. */
  weight(): number;
  writeWeight(weight: number): WriteError | null;
  /** us per period. */
  quota(): number;
  writeQuota(quota: number): WriteError | null;
  /** Largest quota the groups above allow, us per period of this container. */
  ceiling(): number;
  /** Largest memory limit with which the groups above keep what they promise, bytes. */
  memoryCeiling(guarantees: MemoryGuarantees): number;
  /** Of the memory controller; '' without one. */
  readonly memoryDirectory: string;
  memory(): number;
  /** Swap beyond the memory limit, bytes; 0 where swap is not accounted. */
  swap(): number;
  /**
   * Upwards: the wider limit first, so that memory+swap is never below memory.
   */
  raise(memory: number, swap: number): WriteError | null;
  writeSwap(memory: number, swap: number): WriteError | null;
  /** `memory.low`; null also where it is written, 'unsupported' on v1. */
  protect(amount: number): WriteError | null | 'unsupported';
  protection(): number;
  /**
   * Created on demand, because few of thousands of containers ever lower their memory.
   */
  readonly paths: MemoryPaths;
  close(): void;
}
