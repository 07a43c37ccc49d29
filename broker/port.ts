import type { Cancel, GleanerError, Millis } from '../config/index.js';
import type { StoreHealth } from './store-health.js';

export interface BrokerMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** Where an answer is expected; undefined for what is not a request. */
  readonly reply?: string | undefined;
  header(name: string): string | undefined;
}

export interface PublishOptions {
  readonly reply?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Somebody waits for it: it goes before what waits for the server. */
  readonly urgent?: boolean;
}

export interface Subscription {
  unsubscribe(): void;
}

/** What happened to messages, ever since the broker was made. */
export interface BrokerCounters {
  published: number;
  /**
   * Not sent, because nobody was connected: an old figure is worth nothing later (field-notes
   * A4-11).
   */
  droppedDisconnected: number;
  /**
   * The oldest of what waited, because the server took what was sent before more slowly than more
   * came.
   */
  droppedBacklog: number;
  /**
   * The same, while the server had confirmed nothing at all for seconds: it, or the way to it, is
   * dead and not slow.
   */
  droppedStalled: number;
  droppedTooLarge: number;
  received: number;
  /** A handler threw; the others went on. */
  handlerErrors: number;
  connects: number;
}

export type BrokerStatus =
  | { readonly kind: 'connected'; readonly server: string }
  | { readonly kind: 'disconnected' }
  /**
   * Authentication, permissions: says what an operator must fix. Stores have {@link Broker.stores}.
   */
  | { readonly kind: 'error'; readonly error: GleanerError };

export interface KeyValueEntry {
  readonly key: string;
  /** Null: deleted. */
  readonly value: Uint8Array | null;
  /** Rises with each change in the bucket; comparable within one bucket only. */
  readonly revision: number;
}

/** `delete`: watchers are told, a marker stays. `purge`: nothing stays, and nobody is told. */
export type SweepDecision = 'keep' | 'delete' | 'purge';

export interface KeyValueWatch {
  /**
   * Resolves when all present values have been delivered; on an empty bucket too. Never wait for it
   * to start work.
   */
  readonly ready: Promise<void>;
  stop(): void;
}

/**
 * A bucket. A handle is free: the bucket is made or opened on first use. Rejects with
 * `GLN_BROKER_…`.
 */
export interface KeyValue {
  /** Null where there is none. */
  get(key: string): Promise<KeyValueEntry | null>;
  put(key: string, value: Uint8Array): Promise<number>;
  /** Null where the key is there already. */
  create(key: string, value: Uint8Array): Promise<number | null>;
  /** Null where the key's revision is another by now. */
  update(key: string, value: Uint8Array, revision: number): Promise<number | null>;
  delete(key: string): Promise<void>;
  /** False where the key's revision is another by now, and nothing is deleted. */
  deleteAt(key: string, revision: number): Promise<boolean>;
  keys(): Promise<string[]>;
  /**
   * Reads every key that `mine` names, those of deletions' markers too (value null), and does what
   * `judge` says of it, unless it is another revision by then. A bucket whose keys come and go
   * grows by a marker for each that went until somebody sweeps it.
   * @returns how many were deleted or purged
   */
  sweep(
    isIncluded: (key: string) => boolean,
    decide: (entry: KeyValueEntry) => SweepDecision,
  ): Promise<number>;
  /**
   * Every present value, then every change, in the order of revisions per key and each revision at
   * most once. After a lost connection all keys are read again and only differences delivered; a
   * key gone meanwhile comes as deleted.
   */
  watch(listener: (entry: KeyValueEntry) => void): KeyValueWatch;
}

export interface StreamOptions {
  readonly subjects: readonly string[];
  /** The oldest records go first. */
  readonly maxBytes: number;
}

export interface StreamRecord {
  readonly sequence: number;
  readonly subject: string;
  readonly data: Uint8Array;
}

export interface MessageStream {
  /** Resolves with the record's sequence once it is stored. */
  append(subject: string, data: Uint8Array): Promise<number>;
  /** Records from a sequence on, at most `limit`; fewer where there are no more. */
  read(fromSequence: number, limit: number): Promise<StreamRecord[]>;
}

export interface ObjectStore {
  put(name: string, data: Uint8Array): Promise<void>;
  get(name: string): Promise<Uint8Array | null>;
  /** Nothing is left of it. */
  delete(name: string): Promise<void>;
  /** Of all objects. */
  names(): Promise<string[]>;
}

/**
 * All that Gleaner needs of NATS. Two implementations, one contract (test/broker/contract). Nothing
 * here blocks, and no method but `close` needs a connection to return: work goes on while NATS is
 * away.
 */
export interface Broker {
  readonly kind: 'nats' | 'memory';
  readonly connected: boolean;
  readonly counters: Readonly<BrokerCounters>;
  /** How the buckets, streams and object stores answer this process. */
  readonly stores: StoreHealth;
  /**
   * Fire and forget. False: dropped and counted. What the server does not take at once waits in a
   * bounded queue, whose oldest go when it is full; a lost connection empties it. Throws only
   * `GLN_BROKER_SUBJECT`.
   */
  publish(subject: string, data: Uint8Array, options?: PublishOptions): boolean;
  /**
   * Calls back for each message, one at a time; survives reconnects. Of the members of a queue
   * group one gets each message. `subject` may hold `*` and a last `>`.
   */
  subscribe(
    subject: string,
    handler: (message: BrokerMessage) => void,
    queue?: string,
  ): Subscription;
  /** Rejects with `GLN_BROKER_NO_RESPONDERS`, `_TIMEOUT`, `_DISCONNECTED`. */
  request(subject: string, data: Uint8Array, timeout: Millis): Promise<BrokerMessage>;
  /** All answers that come within `wait`; empty where nobody answers. */
  requestMany(subject: string, data: Uint8Array, wait: Millis): Promise<BrokerMessage[]>;
  keyValue(bucket: string): KeyValue;
  stream(name: string, options: StreamOptions): MessageStream;
  objects(store: string): ObjectStore;
  /** Tells the present state at once (asynchronously), then each change. */
  onStatus(listener: (status: BrokerStatus) => void): Cancel;
  /**
   * Resolves when the server has taken everything published so far; rejects
   * `GLN_BROKER_DISCONNECTED`.
   */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export const newCounters = (): BrokerCounters => ({
  published: 0,
  droppedDisconnected: 0,
  droppedBacklog: 0,
  droppedStalled: 0,
  droppedTooLarge: 0,
  received: 0,
  handlerErrors: 0,
  connects: 0,
});
