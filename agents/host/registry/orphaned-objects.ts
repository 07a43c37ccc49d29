import type { ObjectStore } from '../../../broker/index.js';
import { functionOfPolicy } from '../../simppo/index.js';
import { ownerOfTable } from '../../tuning/index.js';

/** Deleted in one sweep at most: each is two writes. */
const DELETED_MAX = 256;

export interface OrphanRules {
  readonly isOurs: (fn: string) => boolean;
  /** False: nothing is known of the function any more. */
  readonly isKept: (fn: string) => boolean;
  /** The revision that is tuned; null: not known, so none is too old. */
  readonly revisionOf: (fn: string) => string | null;
}

/** Objects of functions that are forgotten, and tables of revisions that are tuned no more. */
export class OrphanedObjects {
  readonly #objects: ObjectStore;
  /**
   * Found to be left over in the last sweep: what is so again goes. A function may just have been
   * called and not be registered yet.
   */
  #doomed = new Set<string>();

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  /** @returns how many were deleted */
  async sweep(rules: OrphanRules): Promise<number> {
    const left = (await this.#objects.names()).filter((name) => isOrphaned(name, rules));
    const gone = left.filter((name) => this.#doomed.has(name)).slice(0, DELETED_MAX);
    this.#doomed = new Set(left);
    for (const name of gone) {
      await this.#objects.delete(name);
      this.#doomed.delete(name);
    }
    return gone.length;
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
