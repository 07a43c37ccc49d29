import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { messageOf } from '../../config/index.js';
import type { Logger } from '../logger.js';
import { RateLimitedLog } from '../rate-limited-log.js';
import { type Connection, longestIdle, newConnection } from './connections.js';
import { httpAddress } from './listen-address.js';
import { parseTarget } from './request-target.js';

export interface HttpRequest {
  readonly method: string;
  /** As sent, not decoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Host and port of the request. */
  readonly host: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Rejects with 413 beyond the server's limit, and with 400 if the peer leaves too early. */
  body(): Promise<Buffer>;
}

export interface HttpResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that lasts until the peer leaves or the server stops. */
export interface HttpStream {
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly follow: (response: ServerResponse) => void;
}

export type HttpHandler = (
  request: HttpRequest,
) => HttpResponse | HttpStream | Promise<HttpResponse | HttpStream>;

class HttpRefusal extends Error {
  readonly status: number;
  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

/** Limits of each server; milliseconds and bytes. */
export const HTTP_LIMITS = {
  /** From the connection or the previous answer to the end of the head; then the whole request. */
  headersMillis: 5000,
  requestMillis: 10_000,
  /** Between two requests of one connection. */
  keepAliveMillis: 5000,
  /** From the request's head until the peer has read the whole answer. */
  answerMillis: 30_000,
  headBytes: 16_384,
  targetBytes: 2048,
  requestsPerConnection: 100,
  /** Interval of the timeout checks; Node's default of 30 s is too long for the limits above. */
  checkMillis: 1000,
} as const;

export interface HttpServerOptions {
  /** Other methods are answered by 405. */
  readonly methods: readonly string[];
  readonly maxConnections: number;
  /** Largest body; GET and HEAD have none. */
  readonly maxBodyBytes?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of a refusal; plain text by default. */
  readonly refusal?: (text: string) => Pick<HttpResponse, 'type' | 'body'>;
  readonly logger: Logger;
  readonly limits?: Partial<{ readonly [key in keyof typeof HTTP_LIMITS]: number }>;
}

/** Most unanswered requests per connection: pipelined, or after its last answer. */
const UNANSWERED_MAX = 100;
const PARSER_STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};
const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
};
const plainRefusal = (text: string): Pick<HttpResponse, 'type' | 'body'> => ({
  type: 'text/plain; charset=utf-8',
  body: `${text}\n`,
});
const ignore = (): void => undefined;

/** Answers, refuses or closes each request within limits of size, number and time. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #limits: { readonly [key in keyof typeof HTTP_LIMITS]: number };
  readonly #server: Server;
  /** Bounded: the longest idle one is closed for a new one. */
  readonly #connections = new Map<Socket, Connection>();
  readonly #counts = new Map<string, number>();
  readonly #log: RateLimitedLog;
  #handler: HttpHandler = () => {
    throw new HttpRefusal(503, 'not started yet');
  };
  #checking: NodeJS.Timeout | undefined;

  /** Listens, and answers 503 until {@link serve}. Port 0: any free one. Rejects as `net` does. */
  static async listen(host: string, port: number, options: HttpServerOptions): Promise<HttpServer> {
    const server = new HttpServer(options);
    await server.#listen(host, port);
    return server;
  }

  private constructor(options: HttpServerOptions) {
    const limits = { ...HTTP_LIMITS, ...options.limits };
    this.#options = options;
    this.#limits = limits;
    this.#log = new RateLimitedLog(options.logger);
    const server = createServer({
      headersTimeout: limits.headersMillis,
      requestTimeout: limits.requestMillis,
      keepAliveTimeout: limits.keepAliveMillis,
      connectionsCheckingInterval: limits.checkMillis,
      maxHeaderSize: limits.headBytes,
      insecureHTTPParser: false,
      // Answered here, so that it is counted.
      requireHostHeader: false,
    });
    server.on('connection', (socket: Socket) => this.#connected(socket));
    server.on('request', (request, response) => this.#requested(request, response, null));
    server.on('checkContinue', (request, response) => this.#requested(request, response, 100));
    server.on('checkExpectation', (request, response) => this.#requested(request, response, 417));
    server.on('connect', (_, socket: Socket) => {
      // Node removes its own listeners from such a socket, so that an error would end the process.
      socket.on('error', ignore);
      this.#refuseRaw(socket, 405);
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      else this.#refuseRaw(socket, PARSER_STATUS[error.code ?? ''] ?? 400);
    });
    this.#server = server;
  }

  serve(handler: HttpHandler): void {
    this.#handler = handler;
  }

  get host(): string {
    return (this.#server.address() as AddressInfo).address;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get address(): string {
    return httpAddress(this.host, this.port);
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Requests by status, and connections by the reason why they were closed without an answer. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  async stop(): Promise<void> {
    clearInterval(this.#checking);
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    for (const { socket } of this.#connections.values()) socket.destroy();
    await closed;
  }

  async #listen(host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    // Never removed: without free file descriptors each connection causes an error.
    this.#server.on('error', (error) => {
      this.#count('accept_failed');
      this.#log.warn(
        'accept',
        now(),
        { event: 'http_accept_failed', error: messageOf(error) },
        'no connection accepted',
      );
    });
    this.#checking = setInterval(() => this.#closeLate(), this.#limits.checkMillis);
    this.#checking.unref();
  }

  #connected(socket: Socket): void {
    if (this.#connections.size >= this.#options.maxConnections) {
      const other = longestIdle(this.#connections.values());
      if (other === null) {
        this.#count('no_slot');
        socket.on('error', ignore);
        socket.destroy();
        return;
      }
      this.#count('evicted');
      this.#close(other.socket);
    }
    this.#connections.set(socket, newConnection(socket, now()));
    socket.once('close', () => this.#connections.delete(socket));
  }

  /** `expects`: 100 if the peer waits for a `100 Continue`, 417 for any other expectation. */
  #requested(request: IncomingMessage, response: ServerResponse, expects: 100 | 417 | null): void {
    request.on('error', ignore);
    response.on('error', ignore);
    const connection = this.#connections.get(request.socket);
    if (connection === undefined || connection.ending) return;
    const maxRequests = this.#limits.requestsPerConnection;
    if (connection.currentResponse !== null || connection.requests === maxRequests) {
      this.#leaveUnanswered(connection);
      return;
    }
    if (++connection.requests === maxRequests) response.setHeader('Connection', 'close');
    connection.currentResponse = response;
    connection.open++;
    connection.since = now();
    response.once('close', () => {
      connection.open--;
      connection.streaming = false;
      if (connection.currentResponse === response) connection.currentResponse = null;
      connection.since = now();
    });
    this.#answer(request, response, connection, expects);
  }

  /** Requests of one connection are handled one by one; pipelined ones must be sent again. */
  #leaveUnanswered(connection: Connection): void {
    this.#count('sent_ahead');
    const { currentResponse } = connection;
    if (currentResponse?.headersSent || ++connection.unanswered > UNANSWERED_MAX)
      this.#close(connection.socket);
    else currentResponse?.setHeader('Connection', 'close');
  }

  #answer(
    request: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
    expects: 100 | 417 | null,
  ): void {
    const finish = (answer: HttpResponse | HttpStream): void => {
      try {
        if (!response.destroyed && !response.headersSent && !connection.ending)
          this.#send(request, response, connection, answer);
      } catch (error) {
        this.#failed(request, error);
        this.#close(connection.socket);
      }
    };
    const fail = (error: unknown): void => finish(this.#refusalOf(request, error));
    let answer: ReturnType<HttpHandler>;
    try {
      answer = this.#handler(this.#admit(request, response, expects));
    } catch (error) {
      fail(error);
      return;
    }
    // Synchronously if possible, so that pipelined requests are answered in order.
    if (answer instanceof Promise) answer.then(finish, fail);
    else finish(answer);
  }

  /** The request for the handler; throws {@link HttpRefusal} if it is refused. */
  #admit(
    request: IncomingMessage,
    response: ServerResponse,
    expects: 100 | 417 | null,
  ): HttpRequest {
    const { methods, maxBodyBytes = 0 } = this.#options;
    const { headers, url = '' } = request;
    const method = request.method ?? '';
    if (url.length > this.#limits.targetBytes) throw new HttpRefusal(414, 'the target is too long');
    if (!methods.includes(method)) throw new HttpRefusal(405, `only ${methods.join(', ')}`);
    const target = parseTarget(url);
    if (target === null) throw new HttpRefusal(400, 'the target is no path');
    const host = target.authority ?? headers.host;
    if (host === undefined && request.httpVersion !== '1.0')
      throw new HttpRefusal(400, 'no Host header');
    if (expects === 417) throw new HttpRefusal(417, 'only 100-continue can be expected');
    const maxRequests = method === 'GET' || method === 'HEAD' ? 0 : maxBodyBytes;
    const tooLong = (): HttpRefusal =>
      new HttpRefusal(413, `a body of at most ${maxRequests} bytes`);
    if (Number(headers['content-length'] ?? 0) > maxRequests) throw tooLong();
    if (maxRequests === 0 && headers['transfer-encoding'] !== undefined) throw tooLong();
    const body = async (): Promise<Buffer> => {
      if (expects === 100) response.writeContinue();
      const chunks: Buffer[] = [];
      let size = 0;
      try {
        for await (const chunk of request as AsyncIterable<Buffer>) {
          size += chunk.length;
          if (size > maxRequests) break;
          chunks.push(chunk);
        }
      } catch {
        throw new HttpRefusal(400, 'the body has no end');
      }
      if (size > maxRequests) throw tooLong();
      return Buffer.concat(chunks);
    };
    return { method, path: target.path, query: target.query, host, headers, body };
  }

  #refusalOf(request: IncomingMessage, error: unknown): HttpResponse {
    const known = error instanceof HttpRefusal;
    if (!known) this.#failed(request, error);
    const formatRefusal = this.#options.refusal ?? plainRefusal;
    return {
      ...formatRefusal(known ? error.message : 'failed; the log has the cause'),
      status: known ? error.status : 500,
      ...(known && error.status === 405
        ? { headers: { Allow: this.#options.methods.join(', ') } }
        : {}),
    };
  }

  #failed(request: IncomingMessage, error: unknown): void {
    const fields = {
      event: 'http_handler_failed',
      path: request.url?.slice(0, 200),
      error: messageOf(error),
    };
    this.#log.warn('handler', now(), fields, 'a request could not be answered');
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
    answer: HttpResponse | HttpStream,
  ): void {
    const status = 'follow' in answer ? 200 : answer.status;
    const headers = { ...this.#options.headers, ...answer.headers };
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader('Content-Type', answer.type);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Cache-Control', 'no-store');
    // The rest of the body is ignored.
    if (!request.complete && hasBody(request)) response.setHeader('Connection', 'close');
    if ('follow' in answer && request.method !== 'HEAD') {
      // Behind an unread answer Node does not report that the peer has left, so the stream would
      // never end.
      if (connection.open > 1) {
        this.#count('sent_ahead');
        this.#close(connection.socket);
        return;
      }
      connection.streaming = true;
      this.#count(String(status));
      response.writeHead(status);
      response.flushHeaders();
      answer.follow(response);
      return;
    }
    this.#count(String(status));
    const body = 'follow' in answer ? '' : answer.body;
    response.setHeader('Content-Length', Buffer.byteLength(body));
    response.writeHead(status);
    response.end(request.method === 'HEAD' ? undefined : body);
    connection.currentResponse = null;
  }

  /** Answers a peer whose bytes are not a request. */
  #refuseRaw(socket: Socket, status: number): void {
    const connection = this.#connections.get(socket);
    const unanswered = connection?.currentResponse?.headersSent === false ? 1 : 0;
    // A refusal cannot be sent in the middle of another answer.
    if (connection === undefined || connection.open > unanswered) {
      this.#close(socket);
      return;
    }
    this.#count(String(status));
    connection.ending = true;
    connection.since = now();
    socket.write(
      `HTTP/1.1 ${status} ${REASONS[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    );
    socket.destroySoon();
  }

  /** Each second: a late handler's answer is 503, and an answer that is not read ends. */
  #closeLate(): void {
    const oldest = now() - this.#limits.answerMillis;
    for (const connection of this.#connections.values()) {
      const { currentResponse } = connection;
      if (
        connection.since > oldest ||
        connection.streaming ||
        (connection.open === 0 && !connection.ending)
      )
        continue;
      if (currentResponse === null || currentResponse.headersSent) {
        this.#count('stalled');
        this.#close(connection.socket);
        continue;
      }
      this.#count('503');
      currentResponse.setHeader('Connection', 'close');
      currentResponse.writeHead(503);
      currentResponse.end();
      connection.currentResponse = null;
      connection.since = now();
    }
  }

  #close(socket: Socket): void {
    this.#connections.delete(socket);
    socket.destroy();
  }

  #count(result: string): void {
    this.#counts.set(result, (this.#counts.get(result) ?? 0) + 1);
  }
}

const now = (): number => performance.now();

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
