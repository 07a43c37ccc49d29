import type { Observation } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import { busyMillis } from './validation.js';

/** What one invoker host last told of a function. */
export interface HostSnapshot {
  readonly host: string;
  readonly at: Millis;
  readonly containers: number;
  /** Mean use over the step, idle containers included: millicores. */
  readonly busy: number;
}

/** A host silent for longer has no container of the function, or none that works. */
const SNAPSHOT_MAX_AGE = 60_000;
const HOSTS_MAX = 64;

/**
 * A function's containers live on several hosts and each tells of its own: who decides about a
 * number of containers needs all of them. Replaces the observation's host and forgets who is
 * silent.
 */
export function withHostSnapshot(
  hostSnapshots: readonly HostSnapshot[],
  observation: Observation,
  now: Millis,
): readonly HostSnapshot[] {
  const { host, containers, used, span } = observation;
  // A span below a millisecond is none.
  const busy = span >= 1 ? (used.cpu * busyMillis(observation)) / span : 0;
  const others = hostSnapshots.filter(
    (one) => one.host !== host && now - one.at <= SNAPSHOT_MAX_AGE,
  );
  return [...others.slice(-(HOSTS_MAX - 1)), { host, at: now, containers, busy }];
}

export const containersOf = (hostSnapshots: readonly HostSnapshot[]): number =>
  hostSnapshots.reduce((sum, one) => sum + one.containers, 0);
export const busyOf = (hostSnapshots: readonly HostSnapshot[]): number =>
  hostSnapshots.reduce((sum, one) => sum + one.busy, 0);
