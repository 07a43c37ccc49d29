import type { HarvestPool } from './harvest-pool.js';
import type { HostCapacity } from './settings.js';

/** What a policy may know about the host, before the activation takes anything. */
export interface HostSnapshot {
  /** Containers with activations running. */
  running: number;
  /** Allocatable, millicores. */
  cpu: number;
  /** Unallocated shares of allocatable CPU and memory. */
  freeCpu: number;
  freeMemory: number;
}

export function fillHostSnapshot(
  into: HostSnapshot,
  capacity: HostCapacity,
  cpu: HarvestPool,
  memory: HarvestPool,
): void {
  into.running = cpu.allocations;
  into.cpu = capacity.allocatableCpu;
  into.freeCpu = cpu.free / capacity.allocatableCpu;
  into.freeMemory = memory.free / capacity.allocatableMemory;
}
