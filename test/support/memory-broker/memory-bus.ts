import type { Broker } from '../../../broker/port.js';
import type { StoreOperation } from '../../../broker/store-health.js';
import { type GleanerError, systemTimers, type Timers } from '../../../config/index.js';
import { MemoryBroker } from './memory-broker.js';
import { MemoryBucket, MemoryStream } from './memory-stores.js';
import { subjectMatches } from './subject-matches.js';

export interface Delivery {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reply: string | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

export interface Interest {
  readonly pattern: readonly string[];
  readonly queue: string | undefined;
  readonly deliver: (delivery: Delivery) => void;
  active: boolean;
}

/**
 * The "server" of in-memory brokers: one process, nothing stored on disk. It can be taken down and
 * up as a nats-server can, and keeps its stores meanwhile.
 */
export class MemoryBus {
  readonly timers: Timers;
  readonly maxPayload = 1_048_576;
  readonly buckets = new Map<string, MemoryBucket>();
  readonly streams = new Map<string, MemoryStream>();
  readonly objects = new Map<string, Map<string, Uint8Array>>();
  /** What a store answers instead of doing its work, as one does that is full; null: it works. */
  refusal: (store: string, operation: StoreOperation) => GleanerError | null = () => null;
  readonly #interests = new Set<Interest>();
  readonly #clients = new Set<MemoryBroker>();
  #rotation = 0;
  #up = true;

  constructor(timers: Timers = systemTimers) {
    this.timers = timers;
  }

  get up(): boolean {
    return this.#up;
  }

  /** A client of this bus. */
  connect(): Broker {
    const client = new MemoryBroker(this, () => this.#clients.delete(client));
    this.#clients.add(client);
    return client;
  }

  takeDown(): void {
    if (!this.#up) return;
    this.#up = false;
    for (const client of this.#clients) client.announce();
  }

  bringUp(): void {
    if (this.#up) return;
    this.#up = true;
    for (const client of this.#clients) client.announce();
  }

  add(interest: Interest): void {
    this.#interests.add(interest);
  }

  remove(interest: Interest): void {
    interest.active = false;
    this.#interests.delete(interest);
  }

  bucket(name: string): MemoryBucket {
    let bucket = this.buckets.get(name);
    if (!bucket) {
      bucket = new MemoryBucket();
      this.buckets.set(name, bucket);
    }
    return bucket;
  }

  stream(name: string, maxBytes: number): MemoryStream {
    let stream = this.streams.get(name);
    if (!stream) {
      stream = new MemoryStream(maxBytes);
      this.streams.set(name, stream);
    }
    return stream;
  }

  /** Delivers after the present turn, never inside `publish`. Returns how many will get it. */
  route(delivery: Delivery): number {
    const tokens = delivery.subject.split('.');
    const chosen: Interest[] = [];
    let groups: Map<string, Interest[]> | undefined;
    for (const interest of this.#interests) {
      if (!subjectMatches(interest.pattern, tokens)) continue;
      if (interest.queue === undefined) {
        chosen.push(interest);
      } else {
        groups ??= new Map();
        const members = groups.get(interest.queue);
        if (members) members.push(interest);
        else groups.set(interest.queue, [interest]);
      }
    }
    if (groups)
      for (const members of groups.values())
        chosen.push(members[this.#rotation++ % members.length]!);
    for (const interest of chosen) {
      queueMicrotask(() => {
        if (interest.active && this.#up) interest.deliver(delivery);
      });
    }
    return chosen.length;
  }
}
