import type { HostReport } from '../../broker/messages/index.js';
import type { Decider } from '../decision/index.js';
import type { FunctionRecord } from './function-record.js';
import type { HostLoad } from './host-load.js';
import { amounts } from './observation.js';

/** A function counts as active for this long after its last start, ms. */
const ACTIVE_MILLIS = 30_000;

export const isActive = ({ revision, running, lastSeen }: FunctionRecord, now: number): boolean =>
  revision !== null && (running > 0 || now - lastSeen <= ACTIVE_MILLIS);

/**
 * What a host tells the aggregator: its capacity less the reserve, what the pools have granted and
 * can lend, and its load since the last report, which begins a new interval. `functions`: at least
 * those that are active.
 */
export function hostReport(
  sender: Pick<HostReport, 'host' | 'boot' | 'sequence'>,
  { capacity, settings, cpuPool, memoryPool }: Decider,
  load: HostLoad,
  functions: Iterable<FunctionRecord>,
  state: Pick<HostReport, 'containers' | 'running' | 'mode'>,
  now: number,
): HostReport {
  const allocatable = amounts(
    capacity.allocatableCpu - settings.cpuReserve,
    capacity.allocatableMemory - settings.memoryReserve,
  );
  let active = 0;
  for (const fn of functions) if (isActive(fn, now)) active++;
  return {
    v: 1,
    ...sender,
    capacity: amounts(capacity.cpu, capacity.memory),
    allocatable,
    pool: amounts(cpuPool.free, memoryPool.free),
    ...load.take(capacity.cpu, now),
    available: allocatable,
    granted: amounts(cpuPool.granted, memoryPool.granted),
    functions: active,
    ...state,
  };
}
