import { connect, type Socket } from 'node:net';

/** One answer as read from the socket. `length` is null where the head gave no Content-Length. */
export interface HttpAnswer {
  readonly status: number;
  readonly length: number | null;
  /** At most `keep` bytes of the body. */
  readonly body: Buffer;
}

export type ExchangeFault = 'refused' | 'idle' | 'no-answer' | 'broken';

/** Why an exchange did not end in an answer; never leaves this folder's client. */
export class ExchangeError extends Error {
  readonly fault: ExchangeFault;

  constructor(fault: ExchangeFault, cause?: unknown) {
    super(fault, { cause });
    this.fault = fault;
  }
}

/** Connects, without Nagle's delay (as both of the invoker's clients do). */
export function open(host: string, port: number, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new ExchangeError('idle'));
    }, timeoutMs);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      // A socket that breaks between two exchanges must not end the process.
      socket.on('error', () => undefined);
      resolve(socket);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      const refused =
        error.code === 'ECONNREFUSED' ||
        error.code === 'EHOSTUNREACH' ||
        error.code === 'ENETUNREACH';
      reject(new ExchangeError(refused ? 'refused' : 'broken', error));
    });
  });
}

/**
 * Writes the parts, each with its own system call, and reads one answer.
 * @param idleMs limit between two arrivals of bytes (a socket timeout, as in Apache's client)
 * @param keep bytes of the body to keep; the rest is read and dropped
 */
export async function exchange(
  socket: Socket,
  parts: readonly Buffer[],
  idleMs: number,
  keep: number,
): Promise<HttpAnswer> {
  const answer = readAnswer(socket, idleMs, keep);
  // Not awaited: a peer that stops reading must run into the time limit, too.
  void send(socket, parts);
  return await answer;
}

async function send(socket: Socket, parts: readonly Buffer[]): Promise<void> {
  for (const part of parts) {
    await new Promise<void>((resolve) => socket.write(part, () => resolve()));
    if (socket.destroyed) return;
  }
}

function readAnswer(socket: Socket, idleMs: number, keep: number): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    let head: { status: number; length: number | null } | undefined;
    let pending: Buffer = Buffer.alloc(0);
    let got = 0;
    const kept: Buffer[] = [];
    let keptBytes = 0;
    let timer = setTimeout(expired, idleMs);

    function done(finish: () => void): void {
      clearTimeout(timer);
      socket.off('data', onData);
      socket.off('close', onClose);
      socket.off('end', onClose);
      finish();
    }
    function expired(): void {
      done(() => reject(new ExchangeError('idle')));
    }
    function onClose(): void {
      const status = head;
      // Without Content-Length the body ends with the connection.
      if (status && status.length === null)
        done(() => resolve({ ...status, body: Buffer.concat(kept) }));
      else done(() => reject(new ExchangeError(head ? 'broken' : 'no-answer')));
    }
    function takeBody(chunk: Buffer): void {
      if (!head) return;
      got += chunk.length;
      if (keptBytes < keep) {
        const part = chunk.subarray(0, keep - keptBytes);
        kept.push(part);
        keptBytes += part.length;
      }
      const status = head;
      if (status.length !== null && got >= status.length) {
        done(() => resolve({ ...status, body: Buffer.concat(kept) }));
      }
    }
    function onData(chunk: Buffer): void {
      clearTimeout(timer);
      timer = setTimeout(expired, idleMs);
      if (head) {
        takeBody(chunk);
        return;
      }
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      for (;;) {
        const end = pending.indexOf('\r\n\r\n');
        if (end < 0) return;
        const lines = pending.subarray(0, end).toString('latin1').split('\r\n');
        const match = /^HTTP\/1\.[01] (\d{3})/.exec(lines[0] ?? '');
        if (!match) {
          done(() => reject(new ExchangeError('broken')));
          return;
        }
        pending = pending.subarray(end + 4);
        const status = Number(match[1]);
        if (status < 200) continue;
        head = { status, length: contentLength(lines) };
        if (status === 204) head.length = 0;
        takeBody(pending);
        return;
      }
    }
    socket.on('data', onData);
    socket.on('close', onClose);
    socket.on('end', onClose);
  });
}

function contentLength(lines: readonly string[]): number | null {
  for (const line of lines) {
    const match = /^content-length:\s*(\d+)\s*$/i.exec(line);
    if (match) return Number(match[1]);
  }
  return null;
}
