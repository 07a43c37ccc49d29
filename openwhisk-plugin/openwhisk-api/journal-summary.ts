import type { JournalEntry } from './journal-entry.js';
import { type OpenChange, openChanges, userVersions } from './open-changes.js';

/** An action with this many lines is summarized: a tuner changes its limit again and again. */
const LINES_OF_ONE = 16;

/**
 * The lines that are still needed. Actions without open changes keep their last line; repeated
 * changes of an action become one line for each of our values.
 */
export function summarized(entries: readonly JournalEntry[]): JournalEntry[] {
  const open = openChanges(entries);
  const versions = userVersions(entries);
  const counts = new Map<string, number>();
  for (const { function: fn } of entries) counts.set(fn, (counts.get(fn) ?? 0) + 1);
  const left = new Map(counts);
  const kept: JournalEntry[] = [];
  for (const entry of entries) {
    const { function: fn } = entry;
    const change = open.get(fn);
    const version = versions.get(fn);
    const last = left.get(fn) === 1;
    left.set(fn, left.get(fn)! - 1);
    const many = change !== undefined && version !== undefined && counts.get(fn)! >= LINES_OF_ONE;
    if (entry.kind === 'killed' || (change !== undefined && !many)) kept.push(entry);
    if (many && last) kept.push(...linesOf(change, version));
  }
  return kept;
}

/** The fewest lines with the same meaning. */
function linesOf(
  change: OpenChange,
  { user, setByGleaner }: { user: string; setByGleaner: string },
): JournalEntry[] {
  const line = { v: 1 as const, function: change.function };
  const done = (version: string, at: number): JournalEntry => ({
    ...line,
    at,
    kind: 'done',
    version,
  });
  const intents: JournalEntry[] = [];
  // The newest change is the last line.
  for (const [limit, known] of [...change.limits].sort(([, a], [, b]) => a.at - b.at))
    for (const value of [...known.setByGleaner].sort(
      (a, b) => Number(a === known.newest) - Number(b === known.newest),
    ))
      intents.push({
        ...line,
        at: known.at,
        kind: 'intent',
        version: user,
        original: known.original === null ? {} : { [limit]: known.original },
        to: { [limit]: value },
        ...(known.why === null ? {} : { why: known.why }),
      });
  const newest = intents.pop();
  if (newest?.kind !== 'intent') return [];
  const { at } = newest;
  const kept: JournalEntry[] = change.kept ? [{ ...line, at, kind: 'kept' }] : [];
  if (change.answered) return [...intents, newest, done(setByGleaner, at), ...kept];
  // Its version is the one before a change with an unknown result, so an earlier value of ours
  // counts.
  const before = intents.at(-1) ?? newest;
  const known: JournalEntry[] = change.version === user ? [] : [before, done(change.version, at)];
  return [...intents, ...known, { ...newest, version: change.version }, ...kept];
}
