import type { Identity, RequestKind } from '../ports/index.js';

/** One TCP connection of an invoker to a container. Sequence numbers are unsigned 32 bits. */
export interface Connection {
  /** Number of the connection among all of the tap's life. */
  readonly id: number;
  readonly server: number;
  readonly client: number;
  readonly port: number;
  readonly bridge: number;
  /** The interface whose packets count: a capture of all of them sees each packet on several. */
  readonly interfaceIndex: number;
  /** Stamp of its first packet, us. */
  readonly openedAt: number;
  /** Position of its last use among all uses. */
  usedAt: number;
  /** Whether the place of the next request head is known; `unreadable`: never again. */
  trust: 'untrusted' | 'trusted' | 'unreadable';
  /** Untrusted: since when every head has followed from the one before, us. */
  chainedSince: number;
  /** Where the next request head begins (while trusted, or while a chain of heads is watched). */
  next: number;
  /** Where the container's next answer begins. */
  answer: number;
  /** Where the last accepted head began; -1 before the first. */
  head: number;
  /** Where the open request's body begins. */
  body: number;
  /** `head`: its body's first packet has not been seen, so the request is not reported yet. */
  request: 'none' | 'head' | 'open';
  isReported: boolean;
  headAt: number;
  contentLength: number;
  kind: RequestKind;
  identity: Identity | null;
  /** The action's name in an open `/init`, without namespace and package. */
  initName: string | null;
}

/** The connections in use, at most `capacity`. */
export class ConnectionTable {
  readonly #capacity: number;
  /**
   * By the client's address, then by the server's address and the client's port. The first of each
   * inner map is the least recently used, because maps iterate in the order of insertion.
   */
  readonly #byClient = new Map<number, Map<number, Connection>>();
  #size = 0;
  #nextId = 1;
  #uses = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#size;
  }

  /** The one to remove before another is added; undefined while there is room. */
  get victim(): Connection | undefined {
    if (this.#size < this.#capacity) return undefined;
    let oldest: Connection | undefined;
    for (const connections of this.#byClient.values())
      for (const first of connections.values()) {
        if (oldest === undefined || first.usedAt < oldest.usedAt) oldest = first;
        break;
      }
    return oldest;
  }

  *values(): IterableIterator<Connection> {
    for (const connections of this.#byClient.values()) yield* connections.values();
  }

  find(server: number, client: number, port: number): Connection | undefined {
    return this.#byClient.get(client)?.get(keyOf(server, port));
  }

  /** Makes it the most recently used one. */
  use(connection: Connection): void {
    const connections = this.#byClient.get(connection.client);
    const key = keyOf(connection.server, connection.port);
    if (!connections?.delete(key)) return;
    connections.set(key, connection);
    connection.usedAt = ++this.#uses;
  }

  add(
    server: number,
    client: number,
    port: number,
    bridge: number,
    interfaceIndex: number,
    at: number,
  ): Connection {
    const added: Connection = {
      id: this.#nextId++,
      server,
      client,
      port,
      bridge,
      interfaceIndex,
      openedAt: at,
      usedAt: ++this.#uses,
      trust: 'untrusted',
      chainedSince: at,
      next: 0,
      answer: 0,
      head: -1,
      body: 0,
      request: 'none',
      isReported: false,
      headAt: 0,
      contentLength: -1,
      kind: 'other',
      identity: null,
      initName: null,
    };
    const connections = this.#byClient.get(client) ?? new Map<number, Connection>();
    this.#byClient.set(client, connections.set(keyOf(server, port), added));
    this.#size++;
    return added;
  }

  remove({ server, client, port }: Connection): void {
    const connections = this.#byClient.get(client);
    if (!connections?.delete(keyOf(server, port))) return;
    this.#size--;
    if (connections.size === 0) this.#byClient.delete(client);
  }
}

/** 48 bits, which a double holds exactly. */
const keyOf = (server: number, port: number): number => server * 65_536 + port;
