import type { KeyValueEntry, KeyValueWatch } from './port.js';

interface Watcher {
  readonly listener: (entry: KeyValueEntry) => void;
  /** Last revision of each key; negative for a deletion. */
  readonly seen: Map<string, number>;
  readonly becomeReady: () => void;
}

/** The watchers of one bucket; each gets each revision of a key at most once and in order. Pure. */
export class KeyValueWatchers {
  readonly #watchers = new Set<Watcher>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  get size(): number {
    return this.#watchers.size;
  }

  add(listener: (entry: KeyValueEntry) => void): KeyValueWatch {
    let becomeReady: () => void = () => {};
    const ready = new Promise<void>((resolve) => {
      becomeReady = resolve;
    });
    const watcher = { listener, seen: new Map<string, number>(), becomeReady };
    this.#watchers.add(watcher);
    return { ready, stop: () => this.#watchers.delete(watcher) };
  }

  /** False if every watcher knew it already. */
  changed(entry: KeyValueEntry): boolean {
    let hasChanged = this.#watchers.size === 0;
    for (const watcher of this.#watchers) if (this.#deliver(watcher, entry)) hasChanged = true;
    return hasChanged;
  }

  /**
   * A full read: keys that are not in it are deleted, unless they were seen after `lastRevision`,
   * the bucket's revision when the read began. `recreated`: the bucket is a new one, so known
   * revisions are void.
   */
  read(entries: readonly KeyValueEntry[], lastRevision: number, recreated: boolean): void {
    const present = new Set(
      entries.filter((entry) => entry.value !== null).map((entry) => entry.key),
    );
    const markers = new Set(
      entries.filter((entry) => entry.value === null).map((entry) => entry.key),
    );
    for (const watcher of this.#watchers) {
      for (const [key, seen] of watcher.seen) {
        // The marker was purged, long after the deletion: no read of the old value is in flight.
        if (seen < 0 && !markers.has(key) && -seen < lastRevision) watcher.seen.delete(key);
        if (seen < 0 || present.has(key) || (seen > lastRevision && !recreated)) continue;
        this.#call(watcher, { key, value: null, revision: lastRevision });
        watcher.seen.set(key, -lastRevision);
      }
      if (recreated) watcher.seen.clear();
      for (const entry of entries) this.#deliver(watcher, entry);
      watcher.becomeReady();
    }
  }

  clear(): void {
    this.#watchers.clear();
  }

  #deliver(watcher: Watcher, entry: KeyValueEntry): boolean {
    const seen = watcher.seen.get(entry.key);
    if (entry.value === null && seen === undefined) return false;
    if (seen !== undefined && entry.revision <= Math.abs(seen)) return false;
    // The revision of a deleted key is kept, so that a late read of the old value is ignored.
    watcher.seen.set(entry.key, entry.value === null ? -entry.revision : entry.revision);
    this.#call(watcher, entry);
    return true;
  }

  #call(watcher: Watcher, entry: KeyValueEntry): void {
    try {
      watcher.listener(entry);
    } catch (error) {
      this.#onError(error);
    }
  }
}
