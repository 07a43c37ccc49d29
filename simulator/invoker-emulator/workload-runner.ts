import { setTimeout as sleep } from 'node:timers/promises';
import type { Action } from './action.js';
import type { ActivationResult } from './invoker-emulator.js';

export interface Arrival {
  /** ms after the workload's begin. */
  readonly atMs: number;
  readonly action: Action;
  readonly payload?: unknown;
}

export interface ActivationRecord extends ActivationResult {
  readonly action: string;
  readonly atMs: number;
  /** How late it was given to the invoker, ms: the runner's own lag, not the invoker's. */
  readonly lateMs: number;
  /** From the intended arrival to the answer, ms. */
  readonly latencyMs: number;
}

export interface WorkloadBounds {
  /** Stops arrivals; what runs is waited for. */
  readonly signal?: AbortSignal;
  /** Called at each end, in order of ends. */
  readonly onRecord?: (record: ActivationRecord) => void;
}

/** Plays a workload: the emulator, or anything with its `invoke`. */
export interface Invoker {
  invoke(action: Action, payload?: unknown): Promise<ActivationResult>;
}

/**
 * Plays a workload open-loop: each activation arrives at its own time, whatever the earlier ones
 * do, and latency counts from the intended arrival, so that a slow system cannot hide its queue.
 * @returns one record per activation, in order of arrival
 */
export async function playWorkload(
  invoker: Invoker,
  arrivals: readonly Arrival[],
  bounds: WorkloadBounds = {},
): Promise<ActivationRecord[]> {
  const list = [...arrivals].sort((a, b) => a.atMs - b.atMs);
  const begin = performance.now();
  const records: Promise<ActivationRecord>[] = [];
  for (const arrival of list) {
    const wait = begin + arrival.atMs - performance.now();
    if (wait > 0)
      await sleep(wait, undefined, bounds.signal ? { signal: bounds.signal } : {}).catch(
        () => undefined,
      );
    if (bounds.signal?.aborted) break;
    records.push(play(invoker, arrival, begin, bounds.onRecord));
  }
  return await Promise.all(records);
}

async function play(
  invoker: Invoker,
  arrival: Arrival,
  begin: number,
  onRecord: WorkloadBounds['onRecord'],
): Promise<ActivationRecord> {
  const lateMs = performance.now() - begin - arrival.atMs;
  const result = await invoker.invoke(arrival.action, arrival.payload ?? {});
  const record: ActivationRecord = {
    ...result,
    action: `/${arrival.action.namespace}/${arrival.action.name}`,
    atMs: arrival.atMs,
    lateMs,
    latencyMs: performance.now() - begin - arrival.atMs,
  };
  onRecord?.(record);
  return record;
}
