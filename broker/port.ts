import type { Cancel, GleanerError, Millis } from '../config/index.js';
import type { StoreHealth } from './store-health.js';

export interface BrokerMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** Subject for the answer; undefined if the message is not a request. */
  readonly reply?: string | undefined;
  header(name: string): string | undefined;
}

export interface PublishOptions {
  readonly reply?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A requester waits for it: it is sent before the backlog. */
  readonly urgent?: boolean;
}

export interface Subscription {
  unsubscribe(): void;
}

export interface BrokerCounters {
  published: number;
  /** Dropped while disconnected: old figures are useless later, so nothing is queued then. */
  droppedDisconnected: number;
  /** The oldest of the backlog, dropped because the server is slower than the publishers. */
  droppedBacklog: number;
  /** The same while the server has confirmed nothing for seconds: it is dead, not slow. */
  droppedStalled: number;
  droppedTooLarge: number;
  received: number;
  /** Handlers that threw; other handlers are not affected. */
  handlerErrors: number;
  connects: number;
}

export type BrokerStatus =
  | { readonly kind: 'connected'; readonly server: string }
  | { readonly kind: 'disconnected' }
  /** Authentication or permissions, which an operator must fix; for stores see `stores`. */
  | {
      readonly kind: 'error';
      readonly error: GleanerError;
      /** Errors of the same kind since the last report; absent: none. */
      readonly suppressed?: number;
    }
  /** A handler threw, which is a defect; one report per subject and minute. */
  | { readonly kind: 'handler_failed'; readonly error: GleanerError };

export interface KeyValueEntry {
  readonly key: string;
  /** Null: deleted. */
  readonly value: Uint8Array | null;
  /** Rises with each change in the bucket; comparable within one bucket only. */
  readonly revision: number;
}

/** `delete` informs watchers and leaves a marker; `purge` removes everything silently. */
export type SweepDecision = 'keep' | 'delete' | 'purge';

export interface KeyValueWatch {
  /** Resolves when all present values are delivered. Do not wait for it before starting work. */
  readonly ready: Promise<void>;
  stop(): void;
}

/** A bucket, created or opened on first use. Rejects with `GLN_BROKER_…`. */
export interface KeyValue {
  get(key: string): Promise<KeyValueEntry | null>;
  put(key: string, value: Uint8Array): Promise<number>;
  /** Null if the key exists. */
  create(key: string, value: Uint8Array): Promise<number | null>;
  /** Null if the key's revision has changed. */
  update(key: string, value: Uint8Array, revision: number): Promise<number | null>;
  delete(key: string): Promise<void>;
  /** False, and nothing is deleted, if the key's revision has changed. */
  deleteAt(key: string, revision: number): Promise<boolean>;
  keys(): Promise<string[]>;
  /**
   * Reads every included key, deletion markers too (value null), and applies `decide` unless the
   * revision has changed by then. Without it a bucket grows by a marker per deleted key.
   * @returns how many were deleted or purged
   */
  sweep(
    isIncluded: (key: string) => boolean,
    decide: (entry: KeyValueEntry) => SweepDecision,
  ): Promise<number>;
  /**
   * Delivers every present value, then every change, each revision at most once and in order per
   * key. After a lost connection only differences are delivered; a missing key as deleted.
   */
  watch(listener: (entry: KeyValueEntry) => void): KeyValueWatch;
}

export interface StreamOptions {
  readonly subjects: readonly string[];
  /** Beyond it the oldest records are deleted. */
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
  read(fromSequence: number, limit: number): Promise<StreamRecord[]>;
}

export interface ObjectStore {
  put(name: string, data: Uint8Array): Promise<void>;
  get(name: string): Promise<Uint8Array | null>;
  delete(name: string): Promise<void>;
  names(): Promise<string[]>;
}

/** Asked for each answer, until it holds. */
export type IsComplete = (answer: BrokerMessage) => boolean;

/** For the answers of parts that have just started, which are not among the expected ones. */
export const LAST_ANSWERS_WAIT = 25 as Millis;

/**
 * Everything that Gleaner uses of NATS. Two implementations pass one contract
 * (test/broker/contract). Nothing here blocks: work continues while NATS is away.
 */
export interface Broker {
  readonly kind: 'nats' | 'memory';
  readonly connected: boolean;
  readonly counters: Readonly<BrokerCounters>;
  readonly stores: StoreHealth;
  /** Subjects whose subscription the server refuses; tried again until the permissions allow it. */
  readonly refusedSubjects: readonly string[];
  /**
   * Fire and forget. False if dropped and counted. Messages wait for a slow server in a bounded
   * queue that drops the oldest; a lost connection empties it. Throws only `GLN_BROKER_SUBJECT`.
   */
  publish(subject: string, data: Uint8Array, options?: PublishOptions): boolean;
  /**
   * Calls the handler for each message, one at a time; survives reconnects. One member of a queue
   * group gets each message. `subject` may contain `*` and a final `>`.
   */
  subscribe(
    subject: string,
    handler: (message: BrokerMessage) => void,
    queue?: string,
  ): Subscription;
  /** Rejects with `GLN_BROKER_NO_RESPONDERS`, `_TIMEOUT`, `_DISCONNECTED`. */
  request(subject: string, data: Uint8Array, timeout: Millis): Promise<BrokerMessage>;
  /**
   * All answers that arrive within `wait`; may be none. Ends {@link LAST_ANSWERS_WAIT} after the
   * first answer for which `isComplete` holds.
   */
  requestMany(
    subject: string,
    data: Uint8Array,
    wait: Millis,
    isComplete?: IsComplete,
  ): Promise<BrokerMessage[]>;
  keyValue(bucket: string): KeyValue;
  stream(name: string, options: StreamOptions): MessageStream;
  objects(store: string): ObjectStore;
  /** Delivers the present state with its cause (asynchronously), then each change. */
  onStatus(listener: (status: BrokerStatus) => void): Cancel;
  /** Resolves when the server has everything published so far, or `GLN_BROKER_DISCONNECTED`. */
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
