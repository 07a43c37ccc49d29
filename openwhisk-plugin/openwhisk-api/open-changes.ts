import type { ChangeReason, JournalEntry } from './journal-entry.js';
import type { Ranges } from './ranges.js';
import {
  type LimitValues,
  limitsOf,
  type RestAction,
  type WritableLimit,
  writableLimits,
} from './rest-schemas.js';

/** What Gleaner changed of one limit. */
interface OpenLimit {
  /** Value before the first of our changes; null if there was none (`instances` only). */
  readonly original: number | null;
  /** Every value of ours since, and the newest. */
  readonly setByGleaner: ReadonlySet<number>;
  readonly newest: number;
  /** Author of the newest change; null: a person. */
  readonly why: ChangeReason | null;
  /** Wall clock of the newest change, ms. */
  readonly at: number;
}

/** What Gleaner changed of one action and has not undone. */
export interface OpenChange {
  readonly function: string;
  readonly limits: ReadonlyMap<WritableLimit, OpenLimit>;
  /** Before the newest of our changes, or after it if known; an older one is its owner's. */
  readonly version: string;
  /** Wall clock of the newest change, ms. */
  readonly changedAt: number;
  /** OpenWhisk answered the newest change. Else it may still be on its way. */
  readonly answered: boolean;
  /** The newest change of its memory was watched and found good. */
  readonly kept: boolean;
}

/** A stamp that is further ahead was written before the clock was set back, ms. */
const CLOCK_TOLERANCE = 60_000;

/**
 * Time since a change, ms; infinite if its stamp is of a clock that was wrong, which must not hold
 * up other changes until that time comes.
 */
export const timeSince = (at: number, now: number): number =>
  at - now > CLOCK_TOLERANCE ? Number.POSITIVE_INFINITY : Math.max(0, now - at);

/** Open changes by function. One without an answer counts: it may have been carried out. */
export function openChanges(entries: readonly JournalEntry[]): Map<string, OpenChange> {
  const open = new Map<string, OpenChange>();
  const beforeIntent = new Map<string, OpenChange | undefined>();
  for (const entry of entries) {
    const before = open.get(entry.function);
    if (entry.kind === 'closed') open.delete(entry.function);
    else if (entry.kind === 'killed') {
      const limits = new Map(before?.limits);
      limits.delete('memory');
      if (before === undefined || limits.size === 0) open.delete(entry.function);
      else open.set(entry.function, { ...before, limits });
    } else if (entry.kind === 'kept') {
      if (before !== undefined) open.set(entry.function, { ...before, kept: true });
    } else if (entry.kind === 'refused') {
      const earlier = beforeIntent.get(entry.function);
      if (earlier === undefined) open.delete(entry.function);
      else open.set(entry.function, earlier);
    } else if (entry.kind === 'done') {
      if (before !== undefined)
        open.set(entry.function, { ...before, version: entry.version, answered: true });
    } else {
      beforeIntent.set(entry.function, before);
      const limits = new Map(before?.limits);
      for (const limit of writableLimits) {
        const value = entry.to[limit];
        if (value === undefined) continue;
        const original = entry.original[limit] ?? null;
        const known = limits.get(limit);
        // Its owner changed it between two of our changes, so the owner's value is the original.
        const setByGleaner =
          known !== undefined && known.original === original ? known.setByGleaner : [];
        limits.set(limit, {
          original,
          setByGleaner: new Set([...setByGleaner, value]),
          newest: value,
          why: entry.why ?? null,
          at: entry.at,
        });
      }
      open.set(entry.function, {
        function: entry.function,
        limits,
        version: entry.version,
        changedAt: entry.at,
        answered: false,
        kept: entry.to.memory === undefined && before?.kept === true,
      });
    }
  }
  return open;
}

/**
 * The version that its user deployed last, by action that Gleaner changed: each change of ours
 * raises the version, and what was learned of code and memory holds on. A version above our newest
 * is the user's again.
 */
export function userVersions(
  entries: readonly JournalEntry[],
): Map<string, { user: string; setByGleaner: string }> {
  const versions = new Map<string, { user: string; setByGleaner: string }>();
  for (const entry of entries) {
    const known = versions.get(entry.function);
    if (entry.kind === 'intent' && known?.setByGleaner !== entry.version)
      versions.set(entry.function, { user: entry.version, setByGleaner: entry.version });
    else if (entry.kind === 'done' && known !== undefined)
      versions.set(entry.function, { ...known, setByGleaner: entry.version });
  }
  return versions;
}

/** Sizes at which actions were killed, MB, and when (wall clock, ms); the newest of each action. */
export function killedSizes(
  entries: readonly JournalEntry[],
): Map<string, { memory: number; at: number }> {
  const killed = new Map<string, { memory: number; at: number }>();
  for (const entry of entries)
    if (entry.kind === 'killed') killed.set(entry.function, { memory: entry.memory, at: entry.at });
  return killed;
}

/** Changes found good since the last OOM kill: with each more of them are made at once. */
export function keptSinceKill(entries: readonly JournalEntry[]): number {
  let kept = 0;
  for (const { kind } of entries) {
    if (kind === 'kept') kept++;
    else if (kind === 'killed') kept = 0;
  }
  return kept;
}

/** The value before Gleaner's changes: the original if the current one is ours, else that one. */
export function originalOf(
  open: OpenChange | undefined,
  limit: WritableLimit,
  current: number | undefined,
): number | null {
  const known = open?.limits.get(limit);
  if (known !== undefined && current !== undefined && known.setByGleaner.has(current))
    return known.original;
  return current ?? null;
}

export interface Undo {
  readonly to: LimitValues;
  /** Limits that another client changed since; they stay. */
  readonly changedByOthers: readonly WritableLimit[];
  /** OpenWhisk cannot remove `instances`; the namespace's whole concurrency has the same effect. */
  readonly raisedToMax: boolean;
}

/** How to take back what Gleaner changed. Pure. */
export function planUndo(open: OpenChange, action: RestAction, ranges: Ranges): Undo {
  const to: { [Limit in WritableLimit]?: number } = {};
  const changedByOthers: WritableLimit[] = [];
  let raisedToMax = false;
  // A version below ours: the action was deleted and created again, so none of its limits are
  // Gleaner's.
  if (compareVersions(action.version, open.version) < 0)
    return { to, changedByOthers: [...open.limits.keys()], raisedToMax };
  const current = limitsOf(action);
  for (const [limit, { original, setByGleaner }] of open.limits) {
    const value = current[limit];
    if (value === (original ?? undefined)) continue;
    if (value === undefined || !setByGleaner.has(value)) changedByOthers.push(limit);
    else if (original !== null) to[limit] = original;
    else if (limit === 'instances' && ranges.instances !== null) {
      raisedToMax = true;
      if (value !== ranges.instances.max) to[limit] = ranges.instances.max;
    }
  }
  return { to, changedByOthers, raisedToMax };
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)];
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
