import type { Random } from '../../config/index.js';
import { type Action, type Arrival, actionSource } from '../../simulator/invoker-emulator/index.js';

/**
 * A function of an experiment: what it does, what its user gave it, and its part of the offered
 * load.
 */
export interface Subject {
  readonly name: string;
  readonly memoryMb: number;
  /** Cores of the user's own quota; absent: a stock container without one. */
  readonly cpus?: number;
  readonly body: 'cpu' | 'timedCpu' | 'parallel' | 'mixed' | 'io';
  readonly payload: Readonly<Record<string, number>>;
  /** CPU time of an activation, ms. */
  readonly cpuMs: number;
  /** Activations a second, on average. */
  readonly rate: number;
}

export function actionOf(subject: Subject): Action {
  return {
    namespace: 'guest',
    name: subject.name,
    version: '0.0.1',
    ...actionSource(subject.body),
    memoryMb: subject.memoryMb,
    ...(subject.cpus === undefined ? {} : { cpus: subject.cpus }),
    timeoutMs: 120_000,
  };
}

/** CPU time asked for per second of CPU time there is. */
export function offeredLoad(subjects: readonly Subject[], cores: number): number {
  return subjects.reduce((sum, s) => sum + (s.rate * s.cpuMs) / 1000, 0) / cores;
}

/**
 * Poisson arrivals of each function, each from a stream of its own, so that a change of one
 * function moves no other's. The count of each is fixed to its expectation (uniform order
 * statistics): a run offers the load it states.
 */
export function poissonArrivals(
  subjects: readonly Subject[],
  seconds: number,
  random: Random,
): Arrival[] {
  const arrivals: Arrival[] = [];
  for (const subject of subjects) {
    const stream = random.fork(subject.name);
    const action = actionOf(subject);
    const count = Math.max(1, Math.round(subject.rate * seconds));
    for (let i = 0; i < count; i++) {
      arrivals.push({ atMs: stream.next() * seconds * 1000, action, payload: subject.payload });
    }
  }
  return arrivals.sort((a, b) => a.atMs - b.atMs);
}
