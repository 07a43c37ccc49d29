import { MIB } from '../../config/index.js';
import type { WorkloadFunction } from '../workload/index.js';
import { type ContainerTable, State } from './container-table.js';

/** The CFS period Docker gives a container that has a quota, us. */
export const PERIOD_MICROS = 100_000;

export function isIdle(table: ContainerTable, slot: number): boolean {
  return table.state[slot] === State.idle || table.state[slot] === State.paused;
}

/** The container's processes run, or are frozen: it holds memory. */
export function isAlive(table: ContainerTable, slot: number): boolean {
  const state = table.state[slot];
  return state !== State.free && state !== State.starting && state !== State.dead;
}

/**
 * The most recently used idle container of a function, unpaused ones first; -1 where there is none.
 */
export function warmContainer(table: ContainerTable, fn: number): number {
  const { state, columns } = table;
  let best = -1;
  for (let slot = 0; slot < table.high; slot++) {
    if (table.fn[slot] !== fn || !isIdle(table, slot)) continue;
    const earlier = best >= 0 && state[slot]! >= state[best]!;
    if (
      earlier &&
      (state[slot] !== state[best] || columns.lastUsed[slot]! <= columns.lastUsed[best]!)
    )
      continue;
    best = slot;
  }
  return best;
}

/** The idle container that has been idle longest; -1 where there is none. */
export function longestIdle(table: ContainerTable): number {
  let oldest = -1;
  for (let slot = 0; slot < table.high; slot++) {
    if (!isIdle(table, slot)) continue;
    if (oldest < 0 || table.columns.lastUsed[slot]! < table.columns.lastUsed[oldest]!)
      oldest = slot;
  }
  return oldest;
}

/**
 * OpenWhisk's `--cpu-shares`: max(floor(1024 x memory / user-memory), 2) (openwhisk-observed §2).
 */
export function sharesOf(memoryMiB: number, userMemoryBytes: number): number {
  return Math.max(2, Math.floor((1024 * memoryMiB * MIB) / userMemoryBytes));
}

/** A user's CPU as a quota, core-us a period; 0 = none. */
export function quotaOf(millicores: number | null): number {
  return millicores === null ? 0 : (millicores * PERIOD_MICROS) / 1000;
}

/** Gives a new container the limits OpenWhisk would, and the profile of its function. */
export function setInitialLimits(
  table: ContainerTable,
  slot: number,
  spec: WorkloadFunction,
  userMemoryBytes: number,
): void {
  const c = table.columns;
  c.weight[slot] = sharesOf(spec.memoryMiB, userMemoryBytes);
  c.period[slot] = PERIOD_MICROS;
  c.quota[slot] = quotaOf(spec.userCpuMillicores);
  c.limit[slot] = spec.memoryMiB * MIB;
  c.base[slot] = spec.profile.memory.baseMiB * MIB;
  c.growth[slot] = spec.profile.memory.growth;
  c.sensitivity[slot] = spec.profile.interference.sensitivity;
  c.pressure[slot] = spec.profile.interference.pressure;
}
