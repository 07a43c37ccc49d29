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

export const newConnection = (socket: Socket, since: number): Connection => ({
  socket,
  since,
  requests: 0,
  open: 0,
  currentResponse: null,
  unanswered: 0,
  streaming: false,
  ending: false,
});

/** The longest idle one, or the longest that does not read its answer; null if all work. */
export function longestIdle(connections: Iterable<Connection>): Connection | null {
  let idle: Connection | null = null;
  let stalled: Connection | null = null;
  for (const connection of connections) {
    if (connection.streaming || connection.currentResponse !== null) continue;
    if (connection.open === 0 || connection.ending) {
      if (idle === null || connection.since < idle.since) idle = connection;
    } else if (stalled === null || connection.since < stalled.since) stalled = connection;
  }
  return idle ?? stalled;
}
