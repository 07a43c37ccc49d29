import type { HostReport } from '../../broker/messages/index.js';
import type { Decider } from '../decision/index.js';
import type { FunctionRecord } from './function-record.js';
import { amounts } from './observation.js';

/** A function without an activation for this long asks for nothing, ms. */
const ACTIVE_MILLIS = 30_000;

/**
 * What a host tells the aggregator: its capacity less the reserve, what the pools have granted and
 * can lend, and what its active functions ask for. A container holds memory for its whole life.
 */
export function hostReport(
  sender: Pick<HostReport, 'host' | 'boot' | 'sequence'>,
  { capacity, settings, cpuPool, memoryPool }: Decider,
  functions: Iterable<FunctionRecord>,
  state: Pick<HostReport, 'containers' | 'running' | 'mode'>,
  now: number,
): HostReport {
  const allocatable = amounts(
    capacity.allocatableCpu - settings.cpuReserve,
    capacity.allocatableMemory - settings.memoryReserve,
  );
  let cpu = 0;
  let memory = 0;
  let active = 0;
  for (const fn of functions) {
    if (fn.revision === null || (fn.running === 0 && now - fn.lastSeen > ACTIVE_MILLIS)) continue;
    active++;
    cpu += fn.demandCpu * Math.max(1, fn.running);
    memory += fn.demandMemory * Math.max(1, fn.running);
  }
  return {
    v: 1,
    ...sender,
    capacity: amounts(capacity.cpu, capacity.memory),
    allocatable,
    pool: amounts(cpuPool.free, memoryPool.free),
    demand: amounts(cpu, memory),
    available: allocatable,
    granted: amounts(cpuPool.granted, memoryPool.granted),
    functions: active,
    ...state,
  };
}
