import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { type Millis, millis, systemTimers } from '../../../config/index.js';
import {
  EngineResponseError,
  EngineStatusError,
  EngineUnavailableError,
  engineError,
} from '../engine/index.js';
import { Message } from './protobuf.js';

const LONGEST_MESSAGE = 16 * 1024 * 1024;
/** One byte "is compressed", four bytes of length. */
const PREFIX = 5;
const DEADLINE = millis(5000);

export interface GrpcOptions {
  /** Path of the unix socket. */
  readonly socketPath: string;
  /** The only methods that can be called, as `/package.Service/Method`. */
  readonly methods: ReadonlySet<string>;
  /** Deadline of one call. Default 5 s. */
  readonly deadline?: Millis;
}

/**
 * gRPC over HTTP/2 on a unix socket
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md), without compression. All calls
 * share one connection, which is opened again when it has ended.
 */
export class GrpcClient {
  readonly #options: GrpcOptions;
  readonly #deadline: Millis;
  #session: ClientHttp2Session | null = null;

  constructor(options: GrpcOptions) {
    this.#options = options;
    this.#deadline = options.deadline ?? DEADLINE;
  }

  /**
   * One call with one answer. Throws {@link EngineUnavailableError}, {@link EngineResponseError},
   * and {@link EngineStatusError} with gRPC's status code.
   */
  async call(method: string, request: Buffer): Promise<Message> {
    let answer: Message | null = null;
    let cancel = (): void => undefined;
    await new Promise<void>((resolve, reject) => {
      const stop = this.stream(method, request, {
        message: (received) => {
          answer = received;
        },
        ended: (error) => (error === null ? resolve() : reject(error)),
      });
      cancel = systemTimers.after(this.#deadline, () => {
        stop();
        reject(
          new EngineUnavailableError(`${method} was not answered within ${this.#deadline} ms`),
        );
      });
    }).finally(() => cancel());
    if (answer === null) throw new EngineResponseError(`${method} was answered with no message`);
    return answer;
  }

  /** One call with any number of answers; `ended` comes once. Returns a function that cancels. */
  stream(
    method: string,
    request: Buffer,
    on: { message(message: Message): void; ended(error: Error | null): void },
  ): () => void {
    if (!this.#options.methods.has(method)) throw new RangeError(`not a permitted call: ${method}`);
    let stream: ClientHttp2Stream;
    try {
      stream = this.#connection().request({
        ':method': 'POST',
        ':path': method,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
    } catch (error) {
      // A session that is being closed refuses new streams.
      this.close();
      const problem = engineError(error, method);
      queueMicrotask(() => on.ended(problem));
      return () => undefined;
    }
    let failure: Error | null = null;
    let status: { code: number; detail: string } | null = null;
    let isOver = false;
    const fail = (error: unknown): void => {
      failure ??= engineError(error, `${method} at ${this.#options.socketPath}`);
      stream.close();
    };
    const readStatus = (headers: IncomingHttpHeaders): void => {
      const code = headers['grpc-status'];
      if (code === undefined) return;
      status = { code: Number(code), detail: decoded(String(headers['grpc-message'] ?? '')) };
    };
    stream.on('response', readStatus);
    stream.on('trailers', readStatus);
    const frames = new Frames((bytes) => on.message(new Message(bytes)));
    stream.on('data', (chunk: Buffer) => {
      if (failure !== null) return;
      try {
        frames.push(chunk);
      } catch (error) {
        fail(error);
      }
    });
    stream.on('error', fail);
    stream.on('close', () => {
      if (isOver) return;
      isOver = true;
      if (failure === null && status?.code !== 0)
        failure =
          status === null
            ? new EngineUnavailableError(`the container runtime ended ${method} without a status`)
            : new EngineStatusError(method, status.code, status.detail);
      on.ended(failure);
    });
    const prefix = Buffer.alloc(PREFIX);
    prefix.writeUInt32BE(request.length, 1);
    stream.end(Buffer.concat([prefix, request]));
    return () => stream.close();
  }

  close(): void {
    this.#session?.destroy();
    this.#session = null;
  }

  #connection(): ClientHttp2Session {
    const open = this.#session;
    if (open !== null && !open.closed && !open.destroyed) return open;
    const { socketPath } = this.#options;
    const session = connect('http://localhost', {
      createConnection: () => connectSocket(socketPath),
    });
    // Each stream of the session reports the error, too.
    session.on('error', () => undefined);
    session.on('goaway', () => session.close());
    this.#session = session;
    return session;
  }
}

/** Cuts a stream into messages. */
class Frames {
  readonly #message: (bytes: Buffer) => void;
  #chunks: Buffer[] = [];
  #length = 0;
  #needed = PREFIX;

  constructor(message: (bytes: Buffer) => void) {
    this.#message = message;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    // A long message comes in many chunks, which are joined once.
    if (this.#length < this.#needed) return;
    let bytes = Buffer.concat(this.#chunks);
    for (;;) {
      this.#needed = PREFIX;
      if (bytes.length < PREFIX) break;
      const length = bytes.readUInt32BE(1);
      if (bytes[0] !== 0 || length > LONGEST_MESSAGE)
        throw new EngineResponseError(
          bytes[0] === 0
            ? `an answer of the container runtime has ${length} bytes`
            : 'the container runtime compresses its answers',
        );
      this.#needed = PREFIX + length;
      if (bytes.length < this.#needed) break;
      this.#message(bytes.subarray(PREFIX, this.#needed));
      bytes = bytes.subarray(this.#needed);
    }
    this.#chunks = [bytes];
    this.#length = bytes.length;
  }
}

/** Status messages are percent-encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
