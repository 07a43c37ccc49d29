import { LRUCache } from 'lru-cache';
import type { Micros } from '../../config/index.js';

/**
 * Failed `/init`s of containers whose function is known by the names of action and container alone.
 */
export interface UnidentifiedInits {
  count: number;
  /** Newest: wall clock us, status of the answer (0: none), and the container's name. */
  at: Micros;
  status: number;
  container: string;
}

const KEPT = 256;

/** OpenWhisk's `ContainerProxy.containerName` keeps these characters of namespace and action. */
const sanitized = (name: string): string => name.replaceAll(/[^\p{L}\p{Nd}_]/gu, '');

/**
 * An `/init` names its action without namespace and package, and its activation only after the
 * code, beyond the captured length. That does not identify a function, so no count of a function
 * changes; `explain` reports that initializations of this name failed.
 */
export class FailedInits {
  readonly #byName = new LRUCache<string, UnidentifiedInits & { readonly name: string }>({
    max: KEPT,
  });

  add(container: string, name: string, status: number, at: Micros): void {
    // Prefix and number are cut off: `wsk0_5_guest_hello` and `wsk0_6_guest_hello` are one action.
    const key = `${container.replace(/^.*?_\d+_/, '')}/${name}`;
    const known = this.#byName.get(key);
    if (known === undefined) this.#byName.set(key, { name, count: 1, at, status, container });
    else Object.assign(known, { count: known.count + 1, at, status, container });
  }

  /** Failures of this action name, in a container of its namespace or a prewarmed one. */
  of(action: string): UnidentifiedInits | null {
    const parts = action.split('/');
    const name = parts.at(-1) ?? '';
    const tail = `_${sanitized(parts[1] ?? '')}_${sanitized(name)}`;
    const found = [...this.#byName.values()]
      .filter(
        (one) =>
          one.name === name &&
          (one.container.endsWith(tail) || one.container.includes('_prewarm_')),
      )
      .sort((a, b) => b.at - a.at);
    const newest = found[0];
    if (newest === undefined) return null;
    const { at, status, container } = newest;
    return { count: found.reduce((sum, { count }) => sum + count, 0), at, status, container };
  }
}
