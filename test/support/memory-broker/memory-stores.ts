import type { KeyValueEntry, StreamRecord } from '../../../broker/port.js';
import type { StoreHealth, StoreOperation } from '../../../broker/store-health.js';
import type { MemoryBus } from './memory-bus.js';

/** Counts an operation of a store. Throws if the bus refuses it. */
export function checkStore(
  bus: MemoryBus,
  health: StoreHealth,
  store: string,
  operation: StoreOperation,
  key = '',
): void {
  const error = bus.refusal(store, operation);
  if (error === null) {
    health.succeeded(store, operation, key);
    return;
  }
  health.failed(store, operation, error, key);
  throw error;
}

/** What a bucket of the bus holds; shared by all clients. */
export class MemoryBucket {
  readonly entries = new Map<string, KeyValueEntry>();
  readonly listeners = new Set<(entry: KeyValueEntry) => void>();
  #revision = 0;

  get(key: string): KeyValueEntry | null {
    const entry = this.entries.get(key);
    return entry && entry.value !== null ? entry : null;
  }

  write(key: string, value: Uint8Array | null): number {
    const entry = { key, value: value === null ? null : value.slice(), revision: ++this.#revision };
    this.entries.set(key, entry);
    for (const listener of this.listeners) listener(entry);
    return entry.revision;
  }
}

export class MemoryStream {
  readonly #records: StreamRecord[] = [];
  readonly #maxBytes: number;
  #bytes = 0;
  #sequence = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  append(subject: string, data: Uint8Array): number {
    this.#records.push({ sequence: ++this.#sequence, subject, data: data.slice() });
    this.#bytes += data.byteLength;
    while (this.#bytes > this.#maxBytes && this.#records.length > 1) {
      this.#bytes -= this.#records.shift()!.data.byteLength;
    }
    return this.#sequence;
  }

  read(fromSequence: number, limit: number): StreamRecord[] {
    const start = this.#records.findIndex((record) => record.sequence >= fromSequence);
    return start < 0 ? [] : this.#records.slice(start, start + limit);
  }
}
