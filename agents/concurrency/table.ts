import { z } from 'zod';
import type { ObjectStore } from '../../broker/index.js';
import { messageOf } from '../../config/index.js';
import { TableDamagedError, TableForeignError, TableNewerError } from './errors.js';
import type { LimitSearch } from './search.js';
import type { LimitGrid } from './settings.js';

const VERSION = 1;

/** What a table was learned on. */
export interface TableOwner {
  /** `/namespace/package/action`. */
  readonly function: string;
  /**
   * Which code and memory: the version that the *user* deployed last. Not the action's own version, which the tuner itself raises with every change of
   * the limit: a table kept under that would never be found again.
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

/** Where tables are kept: an object store of the broker is one. */
export type TableStore = Pick<ObjectStore, 'get' | 'put'>;

/** Its name in the store: any text of function and revision, in letters that every store takes. */
export const tableName = ({ function: fn, revision }: TableOwner): string =>
  `concurrency.${Buffer.from(fn).toString('base64url')}.${Buffer.from(revision).toString('base64url')}`;

/** Whose table an object is; null: it is none. */
export function ownerOfTable(name: string): TableOwner | null {
  const [, fn, revision] = /^concurrency\.([\w-]+)\.([\w-]*)$/.exec(name) ?? [];
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
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new TableDamagedError(where, messageOf(error), error);
  }
  const v = (json as { v?: unknown } | null)?.v;
  // Before anything else: a newer version may have another shape.
  if (typeof v === 'number' && v > VERSION) throw new TableNewerError(where, v, VERSION);
  const head = headSchema.safeParse(json);
  if (!head.success) throw new TableDamagedError(where, z.prettifyError(head.error), head.error);
  const { data } = head;
  const expected = { ...owner, search: search.name, fingerprint: search.fingerprint };
  for (const [name, value] of Object.entries(expected)) {
    const found = data[name as keyof typeof expected];
    if (found !== value) throw new TableForeignError(where, `${name} is '${found}', not '${value}'`);
  }
  const limits = ({ least, most, step }: LimitGrid): string => `${least}..${most} by ${step}`;
  if (limits(data.grid) !== limits(grid))
    throw new TableForeignError(where, `its limits are ${limits(data.grid)}, not ${limits(grid)}`);
  const learned = search.schema(grid).safeParse(data.learned);
  if (!learned.success) throw new TableDamagedError(where, z.prettifyError(learned.error), learned.error);
  return learned.data;
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
  return data === null ? null : decodeTable(name, Buffer.from(data).toString('utf8'), owner, search, grid);
}
