import type { NatsConnection } from 'nats';
import type { Clock, GleanerError, Millis } from '../../config/index.js';
import { BrokerDisconnectedError } from '../errors.js';
import type { StoreHealth, StoreOperation } from '../store-health.js';
import { errorCodeOf, isMissingStore, storeError } from './nats-errors.js';

export interface StoreParts {
  readonly connection: () => NatsConnection | null;
  readonly timeout: Millis;
  readonly health: StoreHealth;
  readonly clock: Clock;
}

/** A store that cannot be opened is retried after this time, not for each record. */
const OPEN_AGAIN_MILLIS = 1000;

interface Operation {
  readonly name: string;
  readonly kind: StoreOperation;
  /** The key or object, for stores that have several. */
  readonly key?: string;
}

/** A store that is opened at its first use, on each new connection, and if its stream is gone. */
export class LazyStore<Store> {
  readonly #name: string;
  readonly #parts: StoreParts;
  readonly #open: (connection: NatsConnection) => Promise<Store>;
  #held: { readonly of: NatsConnection; readonly store: Promise<Store> } | null = null;
  #refused: {
    readonly of: NatsConnection;
    readonly at: number;
    readonly error: GleanerError;
  } | null = null;

  constructor(
    name: string,
    parts: StoreParts,
    open: (connection: NatsConnection) => Promise<Store>,
  ) {
    this.#name = name;
    this.#parts = parts;
    this.#open = open;
  }

  reopen(): void {
    this.#held = null;
    this.#refused = null;
  }

  async run<T>({ name, kind, key = '' }: Operation, act: (store: Store) => Promise<T>): Promise<T> {
    const { health, timeout } = this.#parts;
    try {
      const result = await this.#attempt(act);
      health.succeeded(this.#name, kind, key);
      return result;
    } catch (error) {
      const failure = storeError(name, error, timeout);
      health.failed(this.#name, kind, failure, key);
      throw failure;
    }
  }

  async #attempt<T>(act: (store: Store) => Promise<T>): Promise<T> {
    const store = await this.#opened();
    try {
      return await act(store);
    } catch (error) {
      if (!isMissingStore(error)) throw error;
    }
    // Deleted after it was opened (a server with an empty store).
    this.reopen();
    return act(await this.#opened());
  }

  async #opened(): Promise<Store> {
    const { connection, clock, timeout } = this.#parts;
    const now = connection();
    if (!now) throw new BrokerDisconnectedError(this.#name);
    if (this.#held?.of === now) return this.#held.store;
    const refused = this.#refused;
    if (refused?.of === now && clock.monotonic() - refused.at < OPEN_AGAIN_MILLIS)
      throw refused.error;
    const held = { of: now, store: this.#open(now) };
    this.#held = held;
    try {
      return await held.store;
    } catch (error) {
      if (this.#held === held) this.#held = null;
      const failure = storeError(`open ${this.#name}`, error, timeout);
      if (failure.code !== 'GLN_BROKER_DISCONNECTED') {
        this.#refused = { of: now, at: clock.monotonic(), error: failure };
      }
      throw failure;
    }
  }
}

/** Replicas of each store in a cluster: any one server may fail. */
const REPLICAS = 3;

/** No suitable peers for placement, insufficient resources, replicas > 1 without a cluster. */
const TOO_FEW_SERVERS: readonly unknown[] = [10005, 10023, 10074];

/** Creates a missing store with three replicas in a cluster; an existing one keeps its replicas. */
export async function replicated<T>(
  connection: NatsConnection,
  open: (replicas: number) => Promise<T>,
): Promise<T> {
  if (connection.info?.cluster === undefined) return open(1);
  try {
    return await open(REPLICAS);
  } catch (error) {
    if (!TOO_FEW_SERVERS.includes(errorCodeOf(error))) throw error;
    return open(1);
  }
}
