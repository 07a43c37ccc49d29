import { z } from 'zod';
import type { ObjectStore } from '../../../broker/index.js';
import { messageOf } from '../../../config/index.js';
import { BESIDE, jsonVersion, type NewerObjects } from '../../newer-objects.js';
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
   * The version that the user deployed last: the tuner raises the action's own version with every
   * change of the limit.
   */
  readonly revision: string;
}

/** Where tables are kept: an object store of the broker is one. */
export type TableStore = Pick<ObjectStore, 'get' | 'put'>;

/** For tables and guards, beside those of a newer Gleaner. */
export const tableStore = (objects: ObjectStore, newer: NewerObjects): TableStore =>
  newer.beside(objects, VERSION, jsonVersion);

const nameOf = (kind: string, { function: fn, revision }: TableOwner): string =>
  `${kind}.${Buffer.from(fn).toString('base64url')}.${Buffer.from(revision).toString('base64url')}`;

/** Its name in the store: any text of function and revision, in letters that every store takes. */
export const tableName = (owner: TableOwner): string => nameOf('concurrency', owner);

/** Apart from the table, as it holds for every search. */
const guardName = (owner: TableOwner): string => nameOf('concurrency-guard', owner);

const TABLE_NAME = new RegExp(String.raw`^concurrency(?:-guard)?\.([\w-]+)\.([\w-]*)${BESIDE}$`);

/** Whose table or guard an object is; null: it is neither. */
export function ownerOfTable(name: string): TableOwner | null {
  const [, fn, revision] = TABLE_NAME.exec(name) ?? [];
  if (fn === undefined || revision === undefined) return null;
  const text = (part: string): string => Buffer.from(part, 'base64url').toString('utf8');
  return { function: text(fn), revision: text(revision) };
}

/** An object of the store: the head says what it belongs to, `key` holds the value. */
interface Stored<Value> {
  readonly head: Readonly<Record<string, unknown>>;
  readonly key: 'learned' | 'guard';
  readonly schema: z.ZodType<Value>;
}

const tableOf = <State>(
  owner: TableOwner,
  search: LimitSearch<State>,
  grid: LimitGrid,
): Stored<State> => ({
  head: { ...owner, search: search.name, fingerprint: search.fingerprint, grid },
  key: 'learned',
  schema: search.schema(grid),
});

const guardOf = (owner: TableOwner): Stored<SavedGuard> => ({
  head: { ...owner },
  key: 'guard',
  schema: savedGuardSchema,
});

const encode = <Value>({ head, key }: Stored<Value>, value: Value): string =>
  `${JSON.stringify({ v: VERSION, ...head, [key]: value })}\n`;

function decode<Value>(where: string, text: string, { head, key, schema }: Stored<Value>): Value {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new TableDamagedError(where, messageOf(error), error);
  }
  const { v, ...found } = checkedAs(z.looseObject({ v: z.int().min(1) }), where, json);
  // Before anything else: a newer version may have another shape.
  if (v > VERSION) throw new TableNewerError(where, v, VERSION);
  for (const [name, value] of Object.entries(head)) {
    const [is, expected] = [JSON.stringify(found[name]), JSON.stringify(value)];
    if (is !== expected) throw new TableForeignError(where, `${name} is ${is}, not ${expected}`);
  }
  return checkedAs(schema, where, found[key]);
}

function checkedAs<T>(schema: z.ZodType<T>, where: string, value: unknown): T {
  const checked = schema.safeParse(value);
  if (!checked.success)
    throw new TableDamagedError(where, z.prettifyError(checked.error), checked.error);
  return checked.data;
}

async function load<Value>(
  store: TableStore,
  name: string,
  stored: Stored<Value>,
): Promise<Value | null> {
  const data = await store.get(name);
  return data === null ? null : decode(name, Buffer.from(data).toString('utf8'), stored);
}

export async function saveTable<State>(
  store: TableStore,
  owner: TableOwner,
  search: LimitSearch<State>,
  grid: LimitGrid,
  learned: State,
): Promise<void> {
  await store.put(tableName(owner), Buffer.from(encode(tableOf(owner, search, grid), learned)));
}

/** Null if none is kept. Rejects with `GLN_CONCURRENCY_DAMAGED`, `_FOREIGN` or `_NEWER`. */
export const loadTable = <State>(
  store: TableStore,
  owner: TableOwner,
  search: LimitSearch<State>,
  grid: LimitGrid,
): Promise<State | null> => load(store, tableName(owner), tableOf(owner, search, grid));

export async function saveGuard(
  store: TableStore,
  owner: TableOwner,
  guard: SavedGuard,
): Promise<void> {
  await store.put(guardName(owner), Buffer.from(encode(guardOf(owner), guard)));
}

/** Null if none is kept. Rejects as `loadTable`. */
export const loadGuard = (store: TableStore, owner: TableOwner): Promise<SavedGuard | null> =>
  load(store, guardName(owner), guardOf(owner));
