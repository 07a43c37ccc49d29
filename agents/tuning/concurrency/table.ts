import { z } from 'zod';
import type { ObjectStore } from '../../../broker/index.js';
import { messageOf } from '../../../config/index.js';
import { TableDamagedError, TableForeignError, TableNewerError } from './errors.js';
import { type SavedGuard, savedGuardSchema } from './guard.js';
import type { LimitSearch } from './search.js';
import type { LimitGrid } from './settings.js';

const VERSION = 1;

/** What a table was learned on. */
export interface TableOwner {
  /** `/namespace/package/action`. */
  readonly function: string;
  /**
   * Which code and memory: the version that the *user* deployed last. Not the action's own version,
   * which the tuner itself raises with every change of the limit: a table kept under that would
   * never be found again.
   */
  readonly revision: string;
}

const headSchema = z.object({
  v: z.int().min(1),
  function: z.string(),
  revision: z.string(),
  search: z.string(),
  fingerprint: z.string(),
  grid: z.object({ least: z.number(), most: z.number(), step: z.number() }),
  learned: z.unknown(),
});

const guardSchema = z.object({
  v: z.int().min(1),
  function: z.string(),
  revision: z.string(),
  guard: savedGuardSchema,
});

/** Where tables are kept: an object store of the broker is one. */
export type TableStore = Pick<ObjectStore, 'get' | 'put'>;

const nameOf = (kind: string, { function: fn, revision }: TableOwner): string =>
  `${kind}.${Buffer.from(fn).toString('base64url')}.${Buffer.from(revision).toString('base64url')}`;

/** Its name in the store: any text of function and revision, in letters that every store takes. */
export const tableName = (owner: TableOwner): string => nameOf('concurrency', owner);

/** Apart from the table, as it holds for every search. */
const guardName = (owner: TableOwner): string => nameOf('concurrency-guard', owner);

/** Whose table or guard an object is; null: it is neither. */
export function ownerOfTable(name: string): TableOwner | null {
  const [, fn, revision] = /^concurrency(?:-guard)?\.([\w-]+)\.([\w-]*)$/.exec(name) ?? [];
  if (fn === undefined || revision === undefined) return null;
  const text = (part: string): string => Buffer.from(part, 'base64url').toString('utf8');
  return { function: text(fn), revision: text(revision) };
}

export function encodeTable<State>(
  owner: TableOwner,
  search: LimitSearch<State>,
  grid: LimitGrid,
  learned: State,
): string {
  const { name, fingerprint } = search;
  return `${JSON.stringify({ v: VERSION, ...owner, search: name, fingerprint, grid, learned })}\n`;
}

/** @throws TableDamagedError, TableForeignError, TableNewerError */
export function decodeTable<State>(
  where: string,
  text: string,
  owner: TableOwner,
  search: LimitSearch<State>,
  grid: LimitGrid,
): State {
  const head = checkedAs(headSchema, where, versioned(where, text));
  checkOwner(where, head, { ...owner, search: search.name, fingerprint: search.fingerprint });
  const limits = ({ least, most, step }: LimitGrid): string => `${least}..${most} by ${step}`;
  if (limits(head.grid) !== limits(grid))
    throw new TableForeignError(where, `its limits are ${limits(head.grid)}, not ${limits(grid)}`);
  return checkedAs(search.schema(grid), where, head.learned);
}

export const encodeGuard = (owner: TableOwner, guard: SavedGuard): string =>
  `${JSON.stringify({ v: VERSION, ...owner, guard })}\n`;

/** @throws TableDamagedError, TableForeignError, TableNewerError */
export function decodeGuard(where: string, text: string, owner: TableOwner): SavedGuard {
  const kept = checkedAs(guardSchema, where, versioned(where, text));
  checkOwner(where, kept, { ...owner });
  return kept.guard;
}

/** Its JSON, of a version that is known. */
function versioned(where: string, text: string): unknown {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new TableDamagedError(where, messageOf(error), error);
  }
  const v = (json as { v?: unknown } | null)?.v;
  // Before anything else: a newer version may have another shape.
  if (typeof v === 'number' && v > VERSION) throw new TableNewerError(where, v, VERSION);
  return json;
}

function checkedAs<T>(schema: z.ZodType<T>, where: string, value: unknown): T {
  const checked = schema.safeParse(value);
  if (!checked.success)
    throw new TableDamagedError(where, z.prettifyError(checked.error), checked.error);
  return checked.data;
}

function checkOwner(
  where: string,
  found: Readonly<Record<string, unknown>>,
  expected: Record<string, string>,
): void {
  for (const [name, value] of Object.entries(expected))
    if (found[name] !== value)
      throw new TableForeignError(where, `${name} is '${found[name]}', not '${value}'`);
}

export async function saveTable<State>(
  store: TableStore,
  owner: TableOwner,
  search: LimitSearch<State>,
  grid: LimitGrid,
  learned: State,
): Promise<void> {
  await store.put(tableName(owner), Buffer.from(encodeTable(owner, search, grid, learned)));
}

/** Null where none is kept. Rejects with `GLN_CONCURRENCY_DAMAGED`, `_FOREIGN` or `_NEWER`. */
export async function loadTable<State>(
  store: TableStore,
  owner: TableOwner,
  search: LimitSearch<State>,
  grid: LimitGrid,
): Promise<State | null> {
  const name = tableName(owner);
  const data = await store.get(name);
  return data === null
    ? null
    : decodeTable(name, Buffer.from(data).toString('utf8'), owner, search, grid);
}

export async function saveGuard(
  store: TableStore,
  owner: TableOwner,
  guard: SavedGuard,
): Promise<void> {
  await store.put(guardName(owner), Buffer.from(encodeGuard(owner, guard)));
}

/** Null where none is kept. Rejects as `loadTable`. */
export async function loadGuard(store: TableStore, owner: TableOwner): Promise<SavedGuard | null> {
  const name = guardName(owner);
  const data = await store.get(name);
  return data === null ? null : decodeGuard(name, Buffer.from(data).toString('utf8'), owner);
}
