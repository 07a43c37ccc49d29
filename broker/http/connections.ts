import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface Connection {
  readonly socket: Socket;
  /** Start of its present state, monotonic ms. */
  since: number;
  requests: number;
  /** Responses that the peer has not read yet. */
  open: number;
  /** The request whose handler has not answered yet. */
  currentResponse: ServerResponse | null;
  /** Requests that get no answer: pipelined, or after the last answer. */
  unanswered: number;
  /** Its answer is a stream that lasts until the peer leaves. */
  streaming: boolean;
  /** Its last answer was a refusal. */
  ending: boolean;
}

/** A server's open connections, bounded: the longest idle one is closed for a new one. */
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

  /** The longest idle one, or the longest that does not read its answer; null if all work. */
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
