import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What is known of one open connection. */
export interface Connection {
  readonly socket: Socket;
  /** Since when it has been in its present state, monotonic ms. */
  since: number;
  requests: number;
  /** Responses that the peer has not taken yet. */
  open: number;
  /** The request whose handler has not answered yet. */
  currentResponse: ServerResponse | null;
  /** Requests that get no answer: sent ahead of one, or after the last. */
  unanswered: number;
  /** Its answer goes on until the peer leaves. */
  streaming: boolean;
  /** A refusal was the last thing that it gets. */
  ending: boolean;
}

/**
 * Every open connection of a server, at most so many: who waits the longest without a request gives
 * way to who comes.
 */
export class Connections {
  readonly #maxOpen: number;
  readonly #open = new Map<Socket, Connection>();

  constructor(maxOpen: number) {
    this.#maxOpen = maxOpen;
  }

  get size(): number {
    return this.#open.size;
  }

  get(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  all(): Iterable<Connection> {
    return this.#open.values();
  }

  add(socket: Socket, now: number): Connection {
    const connection: Connection = {
      socket,
      since: now,
      requests: 0,
      open: 0,
      currentResponse: null,
      unanswered: 0,
      streaming: false,
      ending: false,
    };
    this.#open.set(socket, connection);
    return connection;
  }

  remove(socket: Socket): void {
    this.#open.delete(socket);
  }

  get isFull(): boolean {
    return this.#open.size >= this.#maxOpen;
  }

  /**
   * The connection to give up for a new one: of those that owe a request, then of those that do not
   * take their answer, the one that has been so the longest; null where each has a request under
   * way or a stream. So a probe is answered beside any number of idle peers.
   */
  longestIdle(): Connection | null {
    let idle: Connection | null = null;
    let stalled: Connection | null = null;
    for (const connection of this.#open.values()) {
      if (connection.streaming || connection.currentResponse !== null) continue;
      if (connection.open === 0 || connection.ending) {
        if (idle === null || connection.since < idle.since) idle = connection;
      } else if (stalled === null || connection.since < stalled.since) stalled = connection;
    }
    return idle ?? stalled;
  }
}
