import type { Cancel, Clock, GleanerError } from '../config/index.js';

export type StoreOperation = 'read' | 'write';

/** Health of a bucket, a stream or an object store, as this process sees it. */
export interface StoreState {
  readonly store: string;
  readonly operation: StoreOperation;
  readonly succeeded: number;
  readonly failed: number;
  /** The current episode of failures; null while the store answers. */
  readonly failure: StoreFailure | null;
}

export interface StoreFailure {
  readonly count: number;
  /** Time since its first failure, ms. */
  readonly lasting: number;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** The start of an episode (`error` is its first failure) or its end (`error` is null). */
export interface StoreEpisode {
  readonly store: string;
  readonly operation: StoreOperation;
  readonly error: GleanerError | null;
  readonly failure: StoreFailure;
}

interface Entry {
  readonly store: string;
  readonly operation: StoreOperation;
  succeeded: number;
  failed: number;
  episode: { since: number; count: number; error: GleanerError } | null;
  /** Keys whose last operation failed, with the time of that failure, ms. */
  readonly failing: Map<string, number>;
}

/** Most keys that are tracked per store; an episode does not wait for others. */
const KEYS_MAX = 256;
/** A key that was not retried for this long does not keep an episode open, ms. */
const KEY_FORGOTTEN_MILLIS = 60_000;

/**
 * Counts the answers of every store. Failures form episodes, so that a thousand refused writes are
 * one log line. An episode ends when every key that failed has succeeded: a full bucket can refuse
 * changes of its keys and still take new ones.
 */
export class StoreHealth {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<(episode: StoreEpisode) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  succeeded(store: string, operation: StoreOperation, key = ''): void {
    const entry = this.#entry(store, operation);
    entry.succeeded++;
    if (entry.episode === null) return;
    entry.failing.delete(key);
    const forgotten = this.#clock.monotonic() - KEY_FORGOTTEN_MILLIS;
    for (const [failing, at] of entry.failing) if (at < forgotten) entry.failing.delete(failing);
    if (entry.failing.size > 0) return;
    const failure = this.#failureOf(entry);
    entry.episode = null;
    if (failure !== null) this.#notify({ store, operation, error: null, failure });
  }

  /** A lost or closed connection is not a failure of a store. */
  failed(store: string, operation: StoreOperation, error: GleanerError, key = ''): void {
    if (error.code === 'GLN_BROKER_DISCONNECTED' || error.code === 'GLN_BROKER_CLOSED') return;
    const entry = this.#entry(store, operation);
    entry.failed++;
    const now = this.#clock.monotonic();
    if (entry.failing.size < KEYS_MAX || entry.failing.has(key)) entry.failing.set(key, now);
    if (entry.episode !== null) {
      entry.episode.count++;
      entry.episode.error = error;
      return;
    }
    entry.episode = { since: now, count: 1, error };
    const failure = this.#failureOf(entry);
    if (failure !== null) this.#notify({ store, operation, error, failure });
  }

  states(): StoreState[] {
    return [...this.#entries.values()]
      .map((entry) => ({
        store: entry.store,
        operation: entry.operation,
        succeeded: entry.succeeded,
        failed: entry.failed,
        failure: this.#failureOf(entry),
      }))
      .sort((a, b) => a.store.localeCompare(b.store) || a.operation.localeCompare(b.operation));
  }

  /** Called at the start and at the end of each episode. */
  onEpisode(listener: (episode: StoreEpisode) => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #entry(store: string, operation: StoreOperation): Entry {
    const name = `${operation} ${store}`;
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = { store, operation, succeeded: 0, failed: 0, episode: null, failing: new Map() };
      this.#entries.set(name, entry);
    }
    return entry;
  }

  #failureOf({ episode }: Entry): StoreFailure | null {
    if (episode === null) return null;
    const { code, message, hint } = episode.error;
    return {
      count: episode.count,
      lasting: this.#clock.monotonic() - episode.since,
      code,
      message,
      hint,
    };
  }

  #notify(episode: StoreEpisode): void {
    for (const listener of this.#listeners) {
      try {
        listener(episode);
      } catch {
        // A failing listener must not affect the store's callers.
      }
    }
  }
}
