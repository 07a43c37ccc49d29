import type { Identity, RequestKind } from '../ports/index.js';

/** What is known of the place where the connection's next request head begins. */
export const UNTRUSTED = 0;
export const TRUSTED = 1;
/** Until it closes: no later head can be proved to be one. */
export const UNREADABLE_STREAM = 2;

/** Whether a request waits for its answer. */
export const IDLE = 0;
/** Its head was seen, the body's first packet not yet: not reported yet. */
export const HALF = 1;
export const OPEN = 2;

/**
 * The state of TCP connections, in columns of fixed length: nothing is allocated per packet, and
 * memory is bounded. A connection is a slot (an index into each column); when all are taken, the
 * least recently used one is evicted.
 */
export class ConnectionTable {
  readonly capacity: number;
  /** Number of the connection among all of the tap's life. */
  readonly id: Float64Array;
  readonly server: Uint32Array;
  readonly client: Uint32Array;
  readonly port: Uint16Array;
  readonly bridge: Int32Array;
  readonly trust: Uint8Array;
  readonly open: Uint8Array;
  /** 1: the open request was reported to the listener. */
  readonly notified: Uint8Array;
  /**
   * Sequence number of the next request head (meaningful while trusted, or while a chain of heads
   * is being watched).
   */
  readonly next: Uint32Array;
  /** Sequence number of the last accepted head, if `headSeen`. */
  readonly head: Uint32Array;
  readonly headSeen: Uint8Array;
  /** Sequence number of the open request's first body byte. */
  readonly body: Uint32Array;
  /** The container's sequence number at which the next answer begins. */
  readonly answer: Uint32Array;
  /** Stamp of the first packet of the connection, us. */
  readonly openedAt: Float64Array;
  /** Untrusted: since when every head has followed from the one before, us. */
  readonly chainedSince: Float64Array;
  readonly headAt: Float64Array;
  readonly contentLength: Float64Array;
  readonly kind: RequestKind[];
  /** Of the open request. */
  readonly identity: (Identity | null)[];
  /** Of an open `/init`: the action's name without namespace and package. */
  readonly initName: (string | null)[];

  readonly #buckets: Int32Array;
  readonly #chain: Int32Array;
  readonly #newer: Int32Array;
  readonly #older: Int32Array;
  #newest = -1;
  #oldest = -1;
  #free = -1;
  #used = 0;
  #nextId = 1;

  constructor(capacity: number) {
    this.capacity = capacity;
    const wide = (): Float64Array => new Float64Array(capacity);
    const word = (): Uint32Array => new Uint32Array(capacity);
    const byte = (): Uint8Array => new Uint8Array(capacity);
    this.id = wide();
    this.openedAt = wide();
    this.chainedSince = wide();
    this.headAt = wide();
    this.contentLength = wide();
    this.server = word();
    this.client = word();
    this.next = word();
    this.head = word();
    this.body = word();
    this.answer = word();
    this.trust = byte();
    this.open = byte();
    this.notified = byte();
    this.headSeen = byte();
    this.port = new Uint16Array(capacity);
    this.bridge = new Int32Array(capacity);
    this.kind = new Array<RequestKind>(capacity).fill('other');
    this.identity = new Array<Identity | null>(capacity).fill(null);
    this.initName = new Array<string | null>(capacity).fill(null);
    this.#buckets = new Int32Array(2 ** Math.ceil(Math.log2(capacity + 1))).fill(-1);
    this.#chain = new Int32Array(capacity).fill(-1);
    this.#newer = new Int32Array(capacity).fill(-1);
    this.#older = new Int32Array(capacity).fill(-1);
    for (let slot = capacity - 1; slot >= 0; slot--) {
      this.#chain[slot] = this.#free;
      this.#free = slot;
    }
  }

  get used(): number {
    return this.#used;
  }

  isTaken(slot: number): boolean {
    return this.id[slot] !== 0;
  }

  /** The slot to evict before another is added; -1 while one is free. */
  get victim(): number {
    return this.#free >= 0 ? -1 : this.#oldest;
  }

  /** -1 where the connection is not known. Makes it the most recently used one. */
  find(server: number, client: number, port: number): number {
    let slot = this.#buckets[this.#bucketOf(server, client, port)]!;
    while (slot >= 0) {
      if (
        this.port[slot] === port &&
        this.client[slot] === client &&
        this.server[slot] === server
      ) {
        if (slot !== this.#newest) {
          this.#unlink(slot);
          this.#link(slot);
        }
        return slot;
      }
      slot = this.#chain[slot]!;
    }
    return -1;
  }

  /**
   * Takes a slot for a connection that is not there yet. The caller has removed the `victim`, if
   * there was one.
   */
  add(server: number, client: number, port: number, bridge: number, at: number): number {
    const slot = this.#free;
    if (slot < 0) throw new RangeError('the table is full: its victim must be removed first');
    this.#free = this.#chain[slot]!;
    const bucket = this.#bucketOf(server, client, port);
    this.#chain[slot] = this.#buckets[bucket]!;
    this.#buckets[bucket] = slot;
    this.#link(slot);
    this.#used++;
    this.id[slot] = this.#nextId++;
    this.server[slot] = server;
    this.client[slot] = client;
    this.port[slot] = port;
    this.bridge[slot] = bridge;
    this.trust[slot] = UNTRUSTED;
    this.open[slot] = IDLE;
    this.notified[slot] = 0;
    this.headSeen[slot] = 0;
    this.openedAt[slot] = at;
    this.chainedSince[slot] = at;
    this.identity[slot] = null;
    this.initName[slot] = null;
    return slot;
  }

  remove(slot: number): void {
    const bucket = this.#bucketOf(this.server[slot]!, this.client[slot]!, this.port[slot]!);
    let before = -1;
    let here = this.#buckets[bucket]!;
    while (here !== slot) {
      before = here;
      here = this.#chain[here]!;
    }
    if (before < 0) this.#buckets[bucket] = this.#chain[slot]!;
    else this.#chain[before] = this.#chain[slot]!;
    this.#unlink(slot);
    this.#chain[slot] = this.#free;
    this.#free = slot;
    this.#used--;
    this.id[slot] = 0;
    this.identity[slot] = null;
    this.initName[slot] = null;
  }

  #bucketOf(server: number, client: number, port: number): number {
    let hash =
      Math.imul(server | 0, 0x9e3779b1) ^
      Math.imul(client | 0, 0x85ebca77) ^
      Math.imul(port, 0xc2b2ae3d);
    hash ^= hash >>> 15;
    return hash & (this.#buckets.length - 1);
  }

  #link(slot: number): void {
    this.#older[slot] = this.#newest;
    this.#newer[slot] = -1;
    if (this.#newest >= 0) this.#newer[this.#newest] = slot;
    else this.#oldest = slot;
    this.#newest = slot;
  }

  #unlink(slot: number): void {
    const newer = this.#newer[slot]!;
    const older = this.#older[slot]!;
    if (newer >= 0) this.#older[newer] = older;
    else this.#newest = older;
    if (older >= 0) this.#newer[older] = newer;
    else this.#oldest = newer;
  }
}
