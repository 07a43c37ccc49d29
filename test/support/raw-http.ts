import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  /** All that came back, one character a byte. */
  readonly text: string;
  /** Status codes of the answers in it, in order. */
  readonly statuses: readonly number[];
  /** The peer closed within the time. */
  readonly closed: boolean;
}

export interface RawOptions {
  /** Between two pieces. */
  readonly pauseMillis?: number;
  /** Sends FIN after the last piece and goes on reading. */
  readonly halfClose?: boolean;
  /** How long it reads where the peer does not close. */
  readonly waitMillis?: number;
}

export const statusesOf = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g)].map(([, status]) => Number(status));

/**
 * Sends bytes to a port of this machine as they are, and reads what comes back until the peer
 * closes or the time is over.
 */
export function rawExchange(
  port: number,
  pieces: readonly (string | Uint8Array)[],
  { pauseMillis = 0, halfClose = false, waitMillis = 4000 }: RawOptions = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let text = '';
    const socket = openRaw(port);
    const end = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, statuses: statusesOf(text), closed });
    };
    const timer = setTimeout(() => end(false), waitMillis);
    socket.on('data', (data) => {
      text += data.toString('latin1');
    });
    socket.on('close', () => end(true));
    socket.once('connect', async () => {
      for (const [i, piece] of pieces.entries()) {
        if (i > 0 && pauseMillis > 0) await new Promise((next) => setTimeout(next, pauseMillis));
        if (socket.destroyed) return;
        socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
      }
      if (halfClose) socket.end();
    });
  });
}

/** A connection whose errors are of no interest: a peer may reset it at any time. */
export function openRaw(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  // The peer's FIN is its close; without this a half-open socket would stay.
  socket.on('end', () => socket.destroy());
  return socket;
}

/** A request that asks for its connection to be closed after the answer. */
export const rawGet = (target: string, headers = ''): string =>
  `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${headers}Connection: close\r\n\r\n`;
