import { z } from 'zod';
import type { KernelLimits } from '../kubernetes/kernel.js';
import { allowed } from '../support/slowness.js';

/** What the kernel has of a container and its pod, read between two times (ms). */
export interface Reading {
  readonly container: string;
  readonly from: number;
  readonly to: number;
  readonly ofPod: KernelLimits;
  readonly ofContainer: KernelLimits;
}

const line = z.object({
  at: z.string().transform((text) => Date.parse(text)),
  who: z.string(),
  resource: z.string().optional(),
  container: z.string().optional(),
  readBack: z.number().optional(),
  result: z.string().optional(),
  durationMicros: z.number().default(0),
});

/** A change of a limit in the hook's audit log. */
export type Write = z.output<typeof line>;

export const writesOf = (log: string): Write[] =>
  log
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => line.parse(JSON.parse(text)))
    .filter(({ resource = '', result }) => /^(cpu|memory)/.test(resource) && result !== undefined);

/** The user's limits of a container; quotas in millicores, 0: none. */
export interface UserLimits {
  readonly shares: number;
  readonly quota: number;
  readonly podQuota: number;
}

type Limit = 'weight' | 'quota' | 'pod quota';
const RESOURCE = { weight: 'cpu.shares', quota: 'cpu.quota', 'pod quota': 'cpu.quota' } as const;

/** A limit had a value for a while that Gleaner did not write. */
export interface Revert {
  readonly container: string;
  readonly limit: Limit;
  readonly value: number;
  readonly from: number;
  to: number;
  /**
   * `noticed`: Gleaner found the change and wrote its limit again. `overwritten`: its next decision
   * wrote another limit first. Otherwise `unnoticed`.
   */
  outcome: 'noticed' | 'overwritten' | 'unnoticed';
}

/** Between the moments at which the hook writes and dates its record, and reads interrupted. */
const SLACK = allowed(50);
/** The hook compares each limit every 5 s, and a busy machine delays that. */
const NOTICED_WITHIN = allowed(15_000);
/** us per millicore in a period of 100 ms. */
export const MICROS_PER_MILLICORE = 100;

/**
 * Which readings no write of Gleaner explains. On cgroup v1 a value must be the newest one written;
 * v2's weights are a rounded form of what the log has, so there only a change needs a write.
 */
export function revertsOf(
  readings: readonly Reading[],
  writes: readonly Write[],
  users: ReadonlyMap<string, UserLimits>,
  weightsAreShares: boolean,
): Revert[] {
  const reverts: Revert[] = [];
  for (const [container, user] of users) {
    const own = readings.filter((reading) => reading.container === container);
    const ofContainer = writes.filter((write) => write.container === container);
    for (const limit of ['weight', 'quota', 'pod quota'] as const) {
      const relevant = ofContainer.filter(({ resource }) => resource === RESOURCE[limit]);
      const isExact = limit !== 'weight' || weightsAreShares;
      for (const revert of episodes(container, limit, own, relevant, user, isExact)) {
        revert.outcome = outcomeOf(revert, relevant);
        reverts.push(revert);
      }
    }
  }
  return reverts.sort((one, other) => one.from - other.from);
}

function* episodes(
  container: string,
  limit: Limit,
  readings: readonly Reading[],
  writes: readonly Write[],
  user: UserLimits,
  isExact: boolean,
): Generator<Revert> {
  let open: Revert | null = null;
  let previous: Reading | null = null;
  let first = 0;
  for (const reading of readings) {
    const value = readValue(limit, reading);
    // Those before are over, and the last of them is in force; those up to `end` may be.
    const since = isExact ? reading.from : (previous?.from ?? 0);
    while (first < writes.length && writes[first]!.at + SLACK < since) first++;
    let end = first;
    while (end < writes.length && begun(writes[end]!) - SLACK <= reading.to) end++;
    const possible = [writes[first - 1] ?? null, ...writes.slice(first, end)];
    const isExplained = isExact
      ? possible.some((write) => valueAfter(limit, user, write) === value)
      : end > first || previous === null || readValue(limit, previous) === value;
    previous = reading;
    if (isExplained) {
      if (open !== null) yield open;
      open = null;
    } else if (open === null)
      open = { container, limit, value, from: reading.from, to: reading.to, outcome: 'unnoticed' };
    else open.to = reading.to;
  }
  if (open !== null) yield open;
}

const begun = (write: Write): number => write.at - write.durationMicros / 1000;

const readValue = (limit: Limit, { ofPod, ofContainer }: Reading): number =>
  limit === 'weight' ? ofPod.weight : limit === 'quota' ? ofContainer.quota : ofPod.quota;

/** What a write makes of a limit; null: no write yet, the user's limit. */
function valueAfter(limit: Limit, user: UserLimits, write: Write | null): number {
  if (limit === 'weight') return write?.readBack ?? user.shares;
  const quota = write?.readBack ?? user.quota;
  if (limit === 'quota') return quota === 0 ? -1 : Math.round(quota * MICROS_PER_MILLICORE);
  if (user.podQuota === 0 || quota === 0) return -1;
  return Math.round((user.podQuota + Math.max(0, quota - user.quota)) * MICROS_PER_MILLICORE);
}

/** Of a change at a time: whether the hook's log has it. */
export function outcomeOf(
  { from, to }: { readonly from: number; readonly to: number },
  writes: readonly Write[],
): Revert['outcome'] {
  const since = from - SLACK;
  const after = writes.filter(({ at }) => at >= since && at <= from + NOTICED_WITHIN);
  if (after.some(({ who }) => who === 'drift')) return 'noticed';
  return after.length > 0 && to <= from + NOTICED_WITHIN ? 'overwritten' : 'unnoticed';
}
