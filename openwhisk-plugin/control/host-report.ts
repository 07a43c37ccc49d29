import type { HostReport } from '../../broker/messages/index.js';
import type { DecisionSettings, HostCapacity } from '../decision/index.js';
import type { FunctionRecord } from './function-record.js';
import { amounts } from './observation.js';

/** A function without an activation for this long asks for nothing, ms. */
const ACTIVE_MILLIS = 30_000;

/** What only the host that reports knows. Millicores and bytes. */
export interface HostState extends Pick<HostReport, 'containers' | 'running' | 'mode'> {
  readonly granted: { readonly cpu: number; readonly memory: number };
  readonly pool: { readonly cpu: number; readonly memory: number };
}

/** A host's capacity less the reserve: what may be granted. */
export function allocatableOf(
  capacity: HostCapacity,
  settings: DecisionSettings,
): { cpu: number; memory: number } {
  return {
    cpu: Math.max(0, capacity.allocatableCpu - settings.cpuReserve),
    memory: Math.max(0, capacity.allocatableMemory - settings.memoryReserve),
  };
}

/** What a host tells the aggregator: its capacity, and what its active functions ask for. */
export function hostReport(
  sender: Pick<HostReport, 'host' | 'boot' | 'sequence'>,
  { capacity, settings }: { capacity: HostCapacity; settings: DecisionSettings },
  functions: Iterable<FunctionRecord>,
  { granted, pool, containers, running, mode }: HostState,
  now: number,
): HostReport {
  const allocatable = allocatableOf(capacity, settings);
  const demand = { cpu: 0, memory: 0 };
  let active = 0;
  for (const fn of functions) {
    if (fn.revision === null || (fn.running === 0 && now - fn.lastSeen > ACTIVE_MILLIS)) continue;
    active++;
    demand.cpu += fn.demandCpu * Math.max(1, fn.running);
    demand.memory += fn.demandMemory * Math.max(1, fn.running);
  }
  return {
    v: 1,
    ...sender,
    capacity: amounts(capacity.cpu, capacity.memory),
    allocatable: amounts(allocatable.cpu, allocatable.memory),
    pool: amounts(pool.cpu, pool.memory),
    demand: amounts(demand.cpu, demand.memory),
    available: amounts(allocatable.cpu, allocatable.memory),
    granted: amounts(granted.cpu, granted.memory),
    functions: active,
    containers,
    running,
    mode,
  };
}
