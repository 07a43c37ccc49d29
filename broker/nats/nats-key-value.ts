import {
  type JetStreamManager,
  type KV,
  type KvEntry,
  type NatsConnection,
  StorageType,
} from 'nats';
import type { Cancel, Millis, Timers } from '../../config/index.js';
import { KeyValueWatchers } from '../key-value-watchers.js';
import type { KeyValue, KeyValueEntry, KeyValueWatch, SweepDecision } from '../port.js';
import type { StoreOperation } from '../store-health.js';
import { checkKey, isKey } from '../subject-rules.js';
import { LazyStore, replicated, type StoreParts } from './lazy-store.js';
import { isChanged, isMissingMessage } from './nats-errors.js';

/** Interval at which a watched bucket's last revision is compared, to find lost notices. */
const HEARTBEAT = 5000 as Millis;
/** Heartbeats, an hour, after which all keys are read: a purge of a marker has no revision. */
const FULL_READ_EVERY = 720;
const RETRY_MIN = 250;
const RETRY_MAX = 10_000;
const PARALLEL_READS = 64;
const PARALLEL_SWEEPS = 8;
/** Most changed keys that wait to be read; beyond it all keys are read together. */
const CHANGED_MAX = 1024;
/** In place of a key: all keys of a bucket, read together. No text, since any may be sent. */
const ALL_KEYS = undefined;
/** Delay of the next read if a noticed change cannot be read yet, ms. */
const REREAD_DELAYS_MILLIS = [30, 120, 500];

interface Opened {
  readonly kv: KV;
  readonly manager: JetStreamManager;
}

const toEntry = (entry: KvEntry): KeyValueEntry => ({
  key: entry.key,
  value: entry.operation === 'PUT' ? entry.value : null,
  revision: entry.revision,
});

/**
 * A bucket on JetStream. Watching uses no JetStream consumer, because consumers recover late after
 * a reconnect and accumulate on the server. A plain subscription to the bucket's subjects notices
 * *that* a key has changed, and the key is then read with its revision. The heartbeat reads the
 * revisions that no notice showed. After each connect all keys are read and compared.
 */
export class NatsKeyValue implements KeyValue {
  readonly #bucket: string;
  readonly #connection: () => NatsConnection | null;
  readonly #timers: Timers;
  readonly #store: LazyStore<Opened>;
  readonly #watchers: KeyValueWatchers;
  #stopChanges: (() => void) | null = null;
  #isRefused = false;
  #stopHeartbeat: Cancel | null = null;
  #cancelRetry: Cancel | null = null;
  #retry = RETRY_MIN;
  #reading = false;
  #hasPendingRead = false;
  /** Changed keys that are not read yet; a key that changes often is read once. */
  readonly #changes = new Set<string>();
  #changesRead = 0;
  /** All revisions up to this one are known, and some after it. */
  #lastRevision = -1;
  readonly #knownAfter = new Set<number>();
  #heartbeats = 0;
  #isInspecting = false;
  #created = '';
  #closed = false;

  constructor(
    bucket: string,
    parts: StoreParts,
    timers: Timers,
    handlerFailed: (error: unknown) => void,
  ) {
    this.#bucket = bucket;
    this.#connection = parts.connection;
    this.#timers = timers;
    this.#store = new LazyStore(bucket, parts, (connection) =>
      openBucket(bucket, connection, parts.timeout),
    );
    this.#watchers = new KeyValueWatchers(handlerFailed);
  }

  async get(key: string): Promise<KeyValueEntry | null> {
    const entry = await this.#run('get', 'read', key, ({ kv }) => kv.get(key));
    return entry && entry.operation === 'PUT' ? toEntry(entry) : null;
  }

  async put(key: string, value: Uint8Array): Promise<number> {
    return this.#run('put', 'write', key, ({ kv }) => kv.put(key, value));
  }

  async create(key: string, value: Uint8Array): Promise<number | null> {
    return this.#run('create', 'write', key, ({ kv }) => nullWhenChanged(kv.create(key, value)));
  }

  async update(key: string, value: Uint8Array, revision: number): Promise<number | null> {
    if (revision < 1) return null;
    return this.#run('update', 'write', key, ({ kv }) =>
      nullWhenChanged(kv.update(key, value, revision)),
    );
  }

  async delete(key: string): Promise<void> {
    await this.#run('delete', 'write', key, ({ kv }) => kv.delete(key));
  }

  async deleteAt(key: string, revision: number): Promise<boolean> {
    if (revision < 1) return false;
    return this.#run('delete', 'write', key, ({ kv }) => deleteRevision(kv, key, revision));
  }

  async keys(): Promise<string[]> {
    const { entries } = await this.#run('keys', 'read', ALL_KEYS, (opened) =>
      this.#readAll(opened),
    );
    return entries.filter((entry) => entry.value !== null).map((entry) => entry.key);
  }

  async sweep(
    isIncluded: (key: string) => boolean,
    decide: (entry: KeyValueEntry) => SweepDecision,
  ): Promise<number> {
    return this.#run('sweep', 'write', ALL_KEYS, async (opened) => {
      const keys = (await this.#keysOf(opened)).keys.filter(isIncluded);
      const removed = await inBatches(keys, PARALLEL_SWEEPS, (key) =>
        this.#sweepOne(opened, key, decide),
      );
      return removed.filter(Boolean).length;
    });
  }

  watch(listener: (entry: KeyValueEntry) => void): KeyValueWatch {
    const watch = this.#watchers.add(listener);
    this.#subscribeToChanges();
    this.#stopHeartbeat ??= this.#timers.every(HEARTBEAT, () => this.#heartbeat());
    void this.#resync();
    return {
      ready: watch.ready,
      stop: () => {
        watch.stop();
        if (this.#watchers.size === 0) this.#stopWatching();
      },
    };
  }

  /** Called at each connect; `fresh`: nothing is subscribed on this connection yet. */
  connected(fresh: boolean): void {
    this.#store.reopen();
    if (fresh) this.#stopChanges = null;
    // This connection is asked again; if it refuses, too, it says so.
    this.#isRefused = false;
    if (this.#watchers.size === 0) return;
    this.#subscribeToChanges();
    void this.#resync();
  }

  close(): void {
    this.#closed = true;
    this.#watchers.clear();
    this.#stopWatching();
  }

  #stopWatching(): void {
    this.#stopHeartbeat?.();
    this.#stopHeartbeat = null;
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#stopChanges?.();
    this.#stopChanges = null;
  }

  async #run<T>(
    operation: string,
    kind: StoreOperation,
    key: string | undefined,
    act: (opened: Opened) => Promise<T>,
  ): Promise<T> {
    if (key !== ALL_KEYS) checkKey(key);
    return this.#store.run({ name: `${operation} in bucket ${this.#bucket}`, kind, key }, act);
  }

  /** Subject of the notices of changed keys. */
  get notices(): string {
    return `$KV.${this.#bucket}.>`;
  }

  /** The server refuses the subscription to {@link notices}: the heartbeat reads the changes. */
  get isRefused(): boolean {
    return this.#isRefused && this.#watchers.size > 0;
  }

  /** Subscribes to changes; a notice has no revision, so the key is read afterwards. */
  #subscribeToChanges(): void {
    const connection = this.#connection();
    if (!connection || this.#stopChanges || this.#closed) return;
    const { notices } = this;
    const prefix = notices.slice(0, -1);
    const subscription = connection.subscribe(notices, {
      callback: (error, message) => {
        if (!error) this.#onKeyChanged(message.subject.slice(prefix.length));
        else {
          // Refused: the next heartbeat subscribes again.
          this.#stopChanges = null;
          this.#isRefused = true;
        }
      },
    });
    this.#stopChanges = () => subscription.unsubscribe();
  }

  /** Bounds the reads in flight and the keys that wait, for any rate of notices. */
  #onKeyChanged(key: string): void {
    if (!isKey(key)) return;
    if (this.#changes.size >= CHANGED_MAX) {
      this.#changes.clear();
      void this.#resync();
      return;
    }
    this.#changes.add(key);
    this.#readChanges();
  }

  #readChanges(): void {
    for (const key of this.#changes) {
      if (this.#changesRead >= PARALLEL_READS) return;
      this.#changes.delete(key);
      this.#changesRead++;
      void this.#changed(key).finally(() => {
        this.#changesRead--;
        this.#readChanges();
      });
    }
  }

  /** A cluster may send the notice before the stream has committed the change: read again. */
  async #changed(key: string, attempt = 0): Promise<void> {
    try {
      const entry = await this.#run('get', 'read', key, ({ kv }) => kv.get(key));
      if (entry) this.#know(entry.revision);
      if (entry && this.#watchers.changed(toEntry(entry))) return;
    } catch {
      void this.#resync();
      return;
    }
    const wait =
      this.#connection()?.info?.cluster === undefined ? undefined : REREAD_DELAYS_MILLIS[attempt];
    if (wait !== undefined && !this.#closed)
      this.#timers.after(wait as Millis, () => void this.#changed(key, attempt + 1));
  }

  /** Resolves once what it reads is delivered. */
  async #heartbeat(): Promise<void> {
    this.#subscribeToChanges();
    if (!this.#connection() || this.#reading || this.#isInspecting) return;
    this.#isInspecting = true;
    this.#heartbeats++;
    const known = this.#lastRevision;
    try {
      const { state, created } = await this.#run('inspect', 'read', ALL_KEYS, ({ manager }) =>
        manager.streams.info(`KV_${this.#bucket}`),
      );
      // The server has answered the request to subscribe before this one.
      this.#isRefused = this.#stopChanges === null;
      const { last_seq: last } = state;
      const isSame = String(created) === this.#created && last >= known;
      const unnoticed = last - this.#lastRevision - this.#knownAfter.size;
      if (!isSame || unnoticed > CHANGED_MAX || this.#heartbeats % FULL_READ_EVERY === 0)
        await this.#resync();
      else await this.#catchUp(last);
    } catch {
      await this.#resync();
    } finally {
      this.#isInspecting = false;
    }
  }

  /** Reads revisions up to `last` that no notice showed. Those that are gone were replaced. */
  async #catchUp(last: number): Promise<void> {
    while (this.#lastRevision < last && !this.#closed) {
      const entry = await this.#run('read', 'read', ALL_KEYS, ({ manager }) =>
        nextEntry(manager, this.#bucket, this.#lastRevision + 1),
      );
      this.#knowAllBefore(entry === null ? last + 1 : entry.revision);
      if (entry === null) return;
      this.#know(entry.revision);
      if (isKey(entry.key)) this.#watchers.changed(entry);
    }
  }

  #know(revision: number): void {
    if (revision > this.#lastRevision) this.#knownAfter.add(revision);
    while (this.#knownAfter.delete(this.#lastRevision + 1)) this.#lastRevision++;
  }

  #knowAllBefore(revision: number): void {
    for (const known of this.#knownAfter) if (known < revision) this.#knownAfter.delete(known);
    this.#lastRevision = Math.max(this.#lastRevision, revision - 1);
    this.#know(this.#lastRevision);
  }

  /** Reads all keys and delivers differences; one read at a time, retried with back-off. */
  async #resync(): Promise<void> {
    if (this.#closed || !this.#connection()) return;
    if (this.#reading) {
      this.#hasPendingRead = true;
      return;
    }
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#reading = true;
    try {
      const { entries, lastRevision, created } = await this.#run(
        'read',
        'read',
        ALL_KEYS,
        (opened) => this.#readAll(opened),
      );
      const recreated = this.#created !== '' && created !== this.#created;
      this.#created = created;
      this.#lastRevision = lastRevision;
      this.#knownAfter.clear();
      this.#retry = RETRY_MIN;
      if (!this.#closed) this.#watchers.read(entries, lastRevision, recreated);
    } catch {
      // Store health reports it.
      if (!this.#closed && this.#connection()) {
        this.#cancelRetry = this.#timers.after(this.#retry as Millis, () => void this.#resync());
        this.#retry = Math.min(RETRY_MAX, this.#retry * 2);
      }
    } finally {
      this.#reading = false;
    }
    if (this.#hasPendingRead) {
      this.#hasPendingRead = false;
      void this.#resync();
    }
  }

  async #sweepOne(
    { kv, manager }: Opened,
    key: string,
    decide: (entry: KeyValueEntry) => SweepDecision,
  ): Promise<boolean> {
    const entry = await kv.get(key);
    if (!entry) return false;
    const verdict = decide(toEntry(entry));
    if (verdict === 'keep') return false;
    if (verdict === 'delete') return deleteRevision(kv, key, entry.revision);
    try {
      // Deletes by sequence: if the key was written in the meantime, that message is gone.
      return await manager.streams.deleteMessage(`KV_${this.#bucket}`, entry.revision, false);
    } catch (error) {
      if (isMissingMessage(error)) return false;
      throw error;
    }
  }

  async #keysOf(opened: Opened) {
    const info = await opened.manager.streams.info(`KV_${this.#bucket}`, {
      subjects_filter: `$KV.${this.#bucket}.>`,
    });
    const prefix = `$KV.${this.#bucket}.`.length;
    // A message whose subject is not a valid key is not an entry.
    const keys = Object.keys(info.state.subjects ?? {}).map((subject) => subject.slice(prefix));
    return { info, keys: keys.filter(isKey) };
  }

  async #readAll(
    opened: Opened,
  ): Promise<{ entries: KeyValueEntry[]; lastRevision: number; created: string }> {
    const { info, keys } = await this.#keysOf(opened);
    const read = await inBatches(keys, PARALLEL_READS, (key) => opened.kv.get(key));
    const entries = read.flatMap((entry) => (entry ? [toEntry(entry)] : []));
    return { entries, lastRevision: info.state.last_seq, created: String(info.created) };
  }
}

/** Null if another client wrote first. */
async function nullWhenChanged(write: Promise<number>): Promise<number | null> {
  try {
    return await write;
  } catch (error) {
    if (isChanged(error)) return null;
    throw error;
  }
}

/** False if another client wrote first. */
const deleteRevision = async (kv: KV, key: string, revision: number): Promise<boolean> =>
  (await nullWhenChanged(kv.delete(key, { previousSeq: revision }).then(() => revision))) !== null;

/** The first entry of this revision or a later one, or null; its key may be invalid. */
async function nextEntry(
  manager: JetStreamManager,
  bucket: string,
  revision: number,
): Promise<KeyValueEntry | null> {
  const query = { seq: revision, next_by_subj: '>' };
  try {
    const { subject, seq, header, data } = await manager.streams.getMessage(`KV_${bucket}`, query);
    const key = subject.slice(`$KV.${bucket}.`.length);
    return { key, value: header.get('KV-Operation') === '' ? data : null, revision: seq };
  } catch (error) {
    if (isMissingMessage(error)) return null;
    throw error;
  }
}

/** A few at a time, because urgent requests share the connection. */
async function inBatches<T, R>(
  items: readonly T[],
  size: number,
  act: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i += size)
    results.push(...(await Promise.all(items.slice(i, i + size).map(act))));
  return results;
}

async function openBucket(
  bucket: string,
  connection: NatsConnection,
  timeout: Millis,
): Promise<Opened> {
  const manager = await connection.jetstreamManager({ timeout });
  const { views } = connection.jetstream({ timeout });
  const kv = await replicated(connection, (replicas) =>
    views.kv(bucket, {
      history: 1,
      storage: StorageType.File,
      timeout,
      replicas,
      // The leader answers: a replica may return an outdated lease.
      allow_direct: false,
    }),
  );
  return { kv, manager };
}
