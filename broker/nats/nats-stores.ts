import {
  DiscardPolicy,
  type JetStreamManager,
  type NatsConnection,
  type ObjectStore as NatsObjectStore,
  RetentionPolicy,
  StorageType,
} from 'nats';
import type { Millis } from '../../config/index.js';
import { MessageTooLargeError, StoreError, StoreTimeoutError } from '../errors.js';
import type { MessageStream, ObjectStore, StreamOptions, StreamRecord } from '../port.js';
import { checkSubject } from '../subject-rules.js';
import { LazyStore, replicated, type StoreParts } from './lazy-store.js';
import { isMissingMessage, isMissingStore, storeError } from './nats-errors.js';

const PARALLEL_READS = 64;

export function natsStream(name: string, options: StreamOptions, parts: StoreParts): MessageStream {
  const { timeout } = parts;
  const lazy = new LazyStore(name, parts, async (nats) => {
    const manager = await nats.jetstreamManager({ timeout });
    try {
      await manager.streams.info(name);
    } catch (error) {
      if (!isMissingStore(error)) throw error;
      await createStream(nats, manager, name, options, timeout);
    }
    return {
      manager,
      client: nats.jetstream({ timeout }),
      max: nats.info?.max_payload ?? 1_048_576,
    };
  });
  return {
    append: (subject, data) => {
      checkSubject(subject, false);
      return lazy.run(
        { name: `append to stream ${name}`, kind: 'write' },
        async ({ client, max }) => {
          if (data.byteLength > max)
            throw new MessageTooLargeError(`a record of ${name}`, data.byteLength, max);
          return (await client.publish(subject, data)).seq;
        },
      );
    },
    read: (fromSequence, limit) =>
      lazy.run({ name: `read stream ${name}`, kind: 'read' }, ({ manager }) =>
        readStream(manager, name, fromSequence, limit),
      ),
  };
}

async function createStream(
  nats: NatsConnection,
  manager: JetStreamManager,
  name: string,
  { subjects, maxBytes }: StreamOptions,
  timeout: Millis,
): Promise<void> {
  try {
    await replicated(nats, (replicas) =>
      manager.streams.add({
        name,
        subjects: [...subjects],
        max_bytes: maxBytes,
        retention: RetentionPolicy.Limits,
        discard: DiscardPolicy.Old,
        storage: StorageType.File,
        num_replicas: replicas,
        allow_direct: true,
      }),
    );
  } catch (error) {
    // JetStream reserves the maximum size of a stream.
    throw storeError(
      `create stream ${name}, which reserves ${Math.ceil(maxBytes / 2 ** 20)} MiB`,
      error,
      timeout,
    );
  }
}

/** Reads by sequence, so that no consumer remains on the server. */
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
    const until = Math.min(
      state.last_seq,
      next + Math.min(PARALLEL_READS, limit - records.length) - 1,
    );
    const reads: Promise<StreamRecord | null>[] = [];
    for (let sequence = next; sequence <= until; sequence++)
      reads.push(readOne(manager, name, sequence));
    for (const record of await Promise.all(reads)) if (record) records.push(record);
    next = until + 1;
  }
  return records;
}

async function readOne(
  manager: JetStreamManager,
  name: string,
  sequence: number,
): Promise<StreamRecord | null> {
  try {
    const stored = await manager.streams.getMessage(name, { seq: sequence });
    return { sequence: stored.seq, subject: stored.subject, data: stored.data };
  } catch (error) {
    // A record may have been pruned.
    if (isMissingMessage(error)) return null;
    throw error;
  }
}

const encodedName = (name: string): string => {
  const text = Buffer.from(name, 'utf8').toString('base64url');
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
};

export function natsObjects(store: string, parts: StoreParts): ObjectStore {
  const { timeout } = parts;
  const stream = `OBJ_${store}`;
  /** Object names in subjects are base64url with padding, as the client [nats.js] writes them. */
  const meta = `$O.${store}.M.`;
  const lazy = new LazyStore(store, parts, async (nats) => ({
    objects: await replicated(nats, (replicas) =>
      nats.jetstream({ timeout }).views.os(store, { storage: StorageType.File, replicas }),
    ),
    manager: await nats.jetstreamManager({ timeout }),
  }));
  return {
    put: (name, data) =>
      lazy.run({ name: `put object ${name}`, kind: 'write', key: name }, async ({ objects }) => {
        await objects.putBlob({ name }, data);
      }),
    get: (name) =>
      lazy.run(
        { name: `get object ${name}`, kind: 'read', key: name },
        async ({ objects, manager }) => {
          if (!(await isWhole(store, name, objects, manager))) return null;
          return within(timeout, `get object ${name}`, objects.getBlob(name));
        },
      ),
    delete: (name) =>
      lazy.run(
        { name: `delete object ${name}`, kind: 'write', key: name },
        async ({ objects, manager }) => {
          if (!(await objects.info(name))) return;
          await objects.delete(name);
          // The client leaves a marker for each deleted name.
          await manager.streams.purge(stream, { filter: `${meta}${encodedName(name)}` });
        },
      ),
    names: () =>
      lazy.run({ name: `names of objects in ${store}`, kind: 'read' }, async ({ manager }) => {
        const { state } = await manager.streams.info(stream, { subjects_filter: `${meta}>` });
        return Object.keys(state.subjects ?? {}).map((subject) =>
          Buffer.from(subject.slice(meta.length), 'base64url').toString('utf8'),
        );
      }),
  };
}

/** Throws if chunks are missing: the client would wait for them forever and keep a consumer. */
async function isWhole(
  store: string,
  name: string,
  objects: NatsObjectStore,
  manager: JetStreamManager,
): Promise<boolean> {
  // Twice, because the object may be replaced between the two requests.
  for (let attempt = 0; attempt < 2; attempt++) {
    const info = await objects.info(name);
    if (info === null || info.deleted) return false;
    if (info.options?.link)
      throw new StoreError(`get object ${name}`, 'it is a link, which Gleaner does not write');
    if (info.size === 0) return true;
    const chunks = `$O.${store}.C.${info.nuid}`;
    const { state } = await manager.streams.info(`OBJ_${store}`, { subjects_filter: chunks });
    if (state.subjects?.[chunks] === info.chunks) return true;
  }
  throw new StoreError(`get object ${name}`, 'some of its chunks are missing');
}

/** A timeout for operations of the client that have none. */
async function within<T>(timeout: Millis, operation: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreTimeoutError(operation, timeout)), timeout);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // The late result is ignored.
    work.catch(() => undefined);
  }
}
