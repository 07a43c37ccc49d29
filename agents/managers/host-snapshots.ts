import type { Observation } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import { HOSTS_PER_FUNCTION_MAX } from '../hosts-per-function.js';
import { busyMillis } from '../validation.js';

/** One invoker host's newest observation of a function, condensed. */
export interface HostSnapshot {
  readonly host: string;
  readonly at: Millis;
  readonly containers: number;
  /** Mean use over the step, idle containers included: millicores. */
  readonly busy: number;
}

/** A host that was silent for longer has no working container of the function, ms. */
const SNAPSHOT_MAX_AGE = 60_000;

/** Each host reports its own containers; a manager that scales needs all of them. */
export function withHostSnapshot(
  hostSnapshots: readonly HostSnapshot[],
  observation: Observation,
  now: Millis,
): readonly HostSnapshot[] {
  const { host, containers, used, span } = observation;
  // Less than a millisecond is too short to divide by.
  const busy = span >= 1 ? (used.cpu * busyMillis(observation)) / span : 0;
  const others = hostSnapshots.filter(
    (one) => one.host !== host && now - one.at <= SNAPSHOT_MAX_AGE,
  );
  return [...others.slice(-(HOSTS_PER_FUNCTION_MAX - 1)), { host, at: now, containers, busy }];
}

export const containersOf = (hostSnapshots: readonly HostSnapshot[]): number =>
  hostSnapshots.reduce((sum, one) => sum + one.containers, 0);
export const busyOf = (hostSnapshots: readonly HostSnapshot[]): number =>
  hostSnapshots.reduce((sum, one) => sum + one.busy, 0);
