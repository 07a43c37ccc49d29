import { BrokerDisconnectedError } from '../../../broker/errors.js';
import { KeyValueWatchers } from '../../../broker/key-value-watchers.js';
import type {
  KeyValue,
  KeyValueEntry,
  KeyValueWatch,
  SweepDecision,
} from '../../../broker/port.js';
import type { StoreHealth, StoreOperation } from '../../../broker/store-health.js';
import { checkKey } from '../../../broker/subject-rules.js';
import type { MemoryBus } from './memory-bus.js';
import { checkStore, type MemoryBucket } from './memory-stores.js';

export class MemoryKeyValue implements KeyValue {
  readonly #bus: MemoryBus;
  readonly #name: string;
  readonly #connected: () => boolean;
  readonly #health: StoreHealth;
  readonly #watchers: KeyValueWatchers;
  readonly #onChange = (entry: KeyValueEntry): void => {
    queueMicrotask(() => {
      if (this.#connected()) this.#watchers.changed(entry);
    });
  };

  constructor(
    bus: MemoryBus,
    name: string,
    connected: () => boolean,
    health: StoreHealth,
    handlerFailed: (error: unknown) => void,
  ) {
    this.#bus = bus;
    this.#name = name;
    this.#connected = connected;
    this.#health = health;
    this.#watchers = new KeyValueWatchers(handlerFailed);
    bus.bucket(name).listeners.add(this.#onChange);
  }

  async get(key: string): Promise<KeyValueEntry | null> {
    return this.#open(key, 'read').get(key);
  }

  async put(key: string, value: Uint8Array): Promise<number> {
    return this.#open(key, 'write').write(key, value);
  }

  async create(key: string, value: Uint8Array): Promise<number | null> {
    const bucket = this.#open(key, 'write');
    return bucket.get(key) ? null : bucket.write(key, value);
  }

  async update(key: string, value: Uint8Array, revision: number): Promise<number | null> {
    const bucket = this.#open(key, 'write');
    return bucket.entries.get(key)?.revision === revision ? bucket.write(key, value) : null;
  }

  async delete(key: string): Promise<void> {
    const bucket = this.#open(key, 'write');
    if (bucket.get(key)) bucket.write(key, null);
  }

  async deleteAt(key: string, revision: number): Promise<boolean> {
    const bucket = this.#open(key, 'write');
    if (bucket.get(key)?.revision !== revision) return false;
    bucket.write(key, null);
    return true;
  }

  async keys(): Promise<string[]> {
    const bucket = this.#open('any', 'read');
    return [...bucket.entries.values()]
      .filter((entry) => entry.value !== null)
      .map((entry) => entry.key);
  }

  async sweep(
    isIncluded: (key: string) => boolean,
    decide: (entry: KeyValueEntry) => SweepDecision,
  ): Promise<number> {
    const bucket = this.#open('any', 'write');
    let removed = 0;
    for (const entry of [...bucket.entries.values()].filter(({ key }) => isIncluded(key))) {
      const verdict = decide(entry);
      if (verdict === 'keep') continue;
      if (verdict === 'purge') bucket.entries.delete(entry.key);
      else if (entry.value !== null) bucket.write(entry.key, null);
      removed++;
    }
    return removed;
  }

  watch(listener: (entry: KeyValueEntry) => void): KeyValueWatch {
    const watch = this.#watchers.add(listener);
    queueMicrotask(() => this.resync());
    return watch;
  }

  resync(): void {
    if (!this.#connected()) return;
    const entries = [...this.#bus.bucket(this.#name).entries.values()];
    this.#watchers.read(entries, Math.max(0, ...entries.map((entry) => entry.revision)), false);
  }

  close(): void {
    this.#bus.bucket(this.#name).listeners.delete(this.#onChange);
    this.#watchers.clear();
  }

  #open(key: string, operation: StoreOperation): MemoryBucket {
    checkKey(key);
    if (!this.#connected()) throw new BrokerDisconnectedError(`bucket ${this.#name}`);
    checkStore(this.#bus, this.#health, this.#name, operation, key);
    return this.#bus.bucket(this.#name);
  }
}
