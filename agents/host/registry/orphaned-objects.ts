import type { ObjectStore } from '../../../broker/index.js';
import { functionOfPolicy } from '../../simppo/index.js';
import { ownerOfTable } from '../../tuning/index.js';

/** Most objects deleted in one sweep: each deletion is two writes. */
const DELETED_MAX = 256;

export interface OrphanRules {
  readonly isOurs: (fn: string) => boolean;
  /** Whether the function has an entry in the registry or an agent. */
  readonly isKept: (fn: string) => boolean;
  /** The revision that is tuned; null if unknown, and then no revision is obsolete. */
  readonly revisionOf: (fn: string) => string | null;
}

/** Deletes objects of forgotten functions, and tuning tables of obsolete revisions. */
export class OrphanedObjects {
  readonly #objects: ObjectStore;
  /**
   * Orphans of the last sweep; deleted if they are orphans again. A function may just have been
   * activated and not be registered yet.
   */
  #candidates = new Set<string>();

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  /** @returns how many were deleted */
  async sweep(rules: OrphanRules): Promise<number> {
    const orphans = (await this.#objects.names()).filter((name) => isOrphaned(name, rules));
    const deleted = orphans.filter((name) => this.#candidates.has(name)).slice(0, DELETED_MAX);
    this.#candidates = new Set(orphans);
    for (const name of deleted) {
      await this.#objects.delete(name);
      this.#candidates.delete(name);
    }
    return deleted.length;
  }
}

function isOrphaned(name: string, { isOurs, isKept, revisionOf }: OrphanRules): boolean {
  const table = ownerOfTable(name);
  const fn = table?.function ?? functionOfPolicy(name);
  if (fn === null || !isOurs(fn)) return false;
  if (!isKept(fn)) return true;
  const revision = table === null ? null : revisionOf(fn);
  return revision !== null && revision !== table?.revision;
}
