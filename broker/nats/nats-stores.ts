import { DiscardPolicy, type JetStreamManager, type NatsConnection, RetentionPolicy, StorageType } from 'nats';
import type { Millis } from '../../config/index.js';
import { BrokerDisconnectedError, MessageTooLargeError } from '../errors.js';
import type { MessageStream, ObjectStore, StreamOptions, StreamRecord } from '../port.js';
import { checkSubject } from '../subject-rules.js';
import { codeOf, isMissingStore, storeError } from './nats-errors.js';
import { replicated } from './nats-replicas.js';

const PARALLEL_READS = 64;

/** Runs on an open store; opens it anew, once, where it has vanished. */
async function withStore<T, Store>(
  operation: string,
  timeout: Millis,
  open: (anew: boolean) => Promise<Store>,
  act: (store: Store) => Promise<T>,
): Promise<T> {
  try {
    return await act(await open(false));
  } catch (error) {
    if (!isMissingStore(error)) throw storeError(operation, error, timeout);
  }
  try {
    return await act(await open(true));
  } catch (error) {
    throw storeError(operation, error, timeout);
  }
}

/** Remembers what it opened until the connection object changes. */
function opener<Store>(
  name: string,
  connection: () => NatsConnection | null,
  open: (connection: NatsConnection) => Promise<Store>,
): (anew: boolean) => Promise<Store> {
  let held: { of: NatsConnection; store: Store } | null = null;
  return async (anew) => {
    const now = connection();
    if (!now) throw new BrokerDisconnectedError(name);
    if (!held || held.of !== now || anew) held = { of: now, store: await open(now) };
    return held.store;
  };
}

export function natsStream(
  name: string,
  options: StreamOptions,
  connection: () => NatsConnection | null,
  timeout: Millis,
): MessageStream {
  const open = opener(`stream ${name}`, connection, async (nats) => {
    const manager = await nats.jetstreamManager({ timeout });
    try {
      await manager.streams.info(name);
    } catch (error) {
      if (codeOf(error) !== '404') throw error;
      await replicated(nats, (replicas) =>
        manager.streams.add({
          name,
          subjects: [...options.subjects],
          max_bytes: options.maxBytes,
          retention: RetentionPolicy.Limits,
          discard: DiscardPolicy.Old,
          storage: StorageType.File,
          num_replicas: replicas,
          allow_direct: true,
        }),
      );
    }
    return { manager, client: nats.jetstream({ timeout }), max: nats.info?.max_payload ?? 1_048_576 };
  });
  return {
    append: (subject, data) => {
      checkSubject(subject, false);
      return withStore(`append to stream ${name}`, timeout, open, async ({ client, max }) => {
        if (data.byteLength > max) throw new MessageTooLargeError(`a record of ${name}`, data.byteLength, max);
        return (await client.publish(subject, data)).seq;
      });
    },
    read: (fromSequence, limit) =>
      withStore(`read stream ${name}`, timeout, open, ({ manager }) => readStream(manager, name, fromSequence, limit)),
  };
}

/** Plain reads by sequence: no consumer is left behind for the server to keep. */
async function readStream(
  manager: JetStreamManager,
  name: string,
  from: number,
  limit: number,
): Promise<StreamRecord[]> {
  const { state } = await manager.streams.info(name);
  const records: StreamRecord[] = [];
  let next = Math.max(from, state.first_seq);
  while (records.length < limit && next <= state.last_seq) {
    const until = Math.min(state.last_seq, next + Math.min(PARALLEL_READS, limit - records.length) - 1);
    const reads: Promise<StreamRecord | null>[] = [];
    for (let sequence = next; sequence <= until; sequence++) reads.push(readOne(manager, name, sequence));
    for (const record of await Promise.all(reads)) if (record) records.push(record);
    next = until + 1;
  }
  return records;
}

async function readOne(manager: JetStreamManager, name: string, sequence: number): Promise<StreamRecord | null> {
  try {
    const stored = await manager.streams.getMessage(name, { seq: sequence });
    return { sequence: stored.seq, subject: stored.subject, data: stored.data };
  } catch (error) {
    // A record that was pruned meanwhile leaves a hole.
    if (codeOf(error) === '404' || /no message found/i.test(String(error))) return null;
    throw error;
  }
}

const encodedName = (name: string): string => {
  const text = Buffer.from(name, 'utf8').toString('base64url');
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
};

export function natsObjects(store: string, connection: () => NatsConnection | null, timeout: Millis): ObjectStore {
  const stream = `OBJ_${store}`;
  /** Subjects of what objects are called, base64url with padding, as ADR-20 has it. */
  const meta = `$O.${store}.M.`;
  const open = opener(`object store ${store}`, connection, async (nats) => ({
    objects: await replicated(nats, (replicas) =>
      nats.jetstream({ timeout }).views.os(store, { storage: StorageType.File, replicas }),
    ),
    manager: await nats.jetstreamManager({ timeout }),
  }));
  return {
    put: (name, data) =>
      withStore(
        `put object ${name}`,
        timeout,
        open,
        async ({ objects }) => void (await objects.putBlob({ name }, data)),
      ),
    get: (name) => withStore(`get object ${name}`, timeout, open, ({ objects }) => objects.getBlob(name)),
    delete: (name) =>
      withStore(`delete object ${name}`, timeout, open, async ({ objects, manager }) => {
        if (!(await objects.info(name))) return;
        await objects.delete(name);
        // The client leaves a marker for each name that ever was.
        await manager.streams.purge(stream, { filter: `${meta}${encodedName(name)}` });
      }),
    names: () =>
      withStore(`names of objects in ${store}`, timeout, open, async ({ manager }) => {
        const { state } = await manager.streams.info(stream, { subjects_filter: `${meta}>` });
        return Object.keys(state.subjects ?? {}).map((subject) =>
          Buffer.from(subject.slice(meta.length), 'base64url').toString('utf8'),
        );
      }),
  };
}
