import { MIB } from '../../config/index.js';
import type { Workload } from '../workload/index.js';

/**
 * How one simulated invoker host behaves, apart from what it is asked to run. Times in microseconds
 * of simulated time.
 */
export interface HostOptions {
  readonly cores: number;
  readonly memoryBytes: number;
  /** OpenWhisk's `container-pool.user-memory`. */
  readonly userMemoryBytes: number;
  /** In use by the system, the engine and the invoker. */
  readonly systemMemoryBytes: number;
  /** Idle time until a container is paused: 50 ms in OpenWhisk 1.0.0, 10 s from 2.0.0 on. */
  readonly pauseGraceMicros: number;
  readonly unpauseMicros: number;
  /** Idle time until a container is removed. */
  readonly idleMicros: number;
  /** From the order to remove a container (`rm -f`) until its processes are gone. */
  readonly removeMicros: number;
  /** Memory-bus interference between activations, by profile. */
  readonly interference: boolean;
}

/** OpenWhisk 2.0.0's settings (field-notes C2) on the host the workload names. */
export function hostOptions(workload: Workload, changes: Partial<HostOptions> = {}): HostOptions {
  return {
    cores: workload.host.cores,
    memoryBytes: workload.host.memoryMiB * MIB,
    userMemoryBytes: workload.host.userMemoryMiB * MIB,
    systemMemoryBytes: 1024 * MIB,
    pauseGraceMicros: 10_000_000,
    unpauseMicros: 20_000,
    idleMicros: 600_000_000,
    removeMicros: 100_000,
    interference: false,
    ...changes,
  };
}

/** How an activation ended, as OpenWhisk's caller sees it. */
export const SimOutcome = { pending: 0, success: 1, timeout: 2, outOfMemory: 3 } as const;

/**
 * Who watches a host: the simulated platform, or nobody. Called in simulated time; may set limits,
 * may not run the host.
 */
export interface HostWatcher {
  containerStarted(slot: number): void;
  containerEnded(slot: number): void;
  containerPaused(slot: number, paused: boolean): void;
  containerOom(slot: number): void;
  /** The head of `/init` or `/run` reaches the container. */
  request(slot: number, init: boolean): void;
  answer(slot: number, status: number): void;
  closed(slot: number, reset: boolean): void;
  /** An activation is over for its caller; its times are in the host's `results`. */
  activationEnded(activation: number, slot: number, outcome: number): void;
  /** A timer that was set with `schedule` is due. */
  timer(id: number): void;
}

const nothing = (): void => {};

/** For runs that nobody watches. */
export const silent: HostWatcher = {
  containerStarted: nothing,
  containerEnded: nothing,
  containerPaused: nothing,
  containerOom: nothing,
  request: nothing,
  answer: nothing,
  closed: nothing,
  activationEnded: nothing,
  timer: nothing,
};
