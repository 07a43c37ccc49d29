import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { MIB } from '../../config/index.js';
import { ContainerHealthError } from './errors.js';
import { ExchangeError, exchange, type HttpAnswer, open } from './http-exchange.js';

/**
 * `apache`: one connection a request, the invoker's default; `akka`: connections kept alive
 * (`akka-client`, `pekko-client` = true).
 */
export type ClientStyle = 'apache' | 'akka';

/**
 * Answer of a container, or why there is none (ActivationResponse.ContainerHttpError,
 * ActivationResult.scala).
 */
export type ContainerAnswer =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly entity: string;
      /** Real length in bytes where the entity was cut. */
      readonly truncatedFrom: number | null;
    }
  | { readonly kind: 'connection-error' | 'no-response' | 'timeout' };

export interface PostOptions {
  readonly timeoutMs: number;
  /**
   * Bytes that are read whole. Default 1 MiB (common/…/application.conf,
   * whisk.activation.payload.max = 1 m).
   */
  readonly maxResponse?: number;
  /** Bytes kept of a longer one (whisk.activation.payload.truncation = 1 m). */
  readonly truncation?: number;
  /** `/init`: a refused connection is tried again until the time limit. */
  readonly retry: boolean;
  /** `/run` in a container that served before: a refused connection throws ContainerHealthError. */
  readonly reschedule: boolean;
}

export interface ClientOptions {
  readonly style?: ClientStyle;
  /**
   * The standalone server tries again when a connection is closed without an answer
   * (whisk.apache-client.retry-no-http-response-exception).
   */
  readonly retryNoResponse?: boolean;
}

/**
 * httpcore 4.4 SessionOutputBufferImpl: what does not fit its 8 KiB is sent on its own, after what
 * is there.
 */
const APACHE_BUFFER = 8192;
/**
 * ApacheBlockingContainerClient.execute (Thread.sleep) and AkkaContainerClient.retryInterval, ms.
 */
const RETRY_PAUSE: Record<ClientStyle, number> = { apache: 50, akka: 100 };

/**
 * The invoker's HTTP client of one container. Sources: ApacheBlockingContainerClient.scala and
 * AkkaContainerClient.scala (PekkoContainerClient.scala since 1fae641a2) @ 1.0.0,
 * 2.0.0, 1fae641a2; headers and their order: recorded traffic.
 */
export class ContainerClient {
  readonly #host: string;
  readonly #port: number;
  readonly #style: ClientStyle;
  readonly #retryNoResponse: boolean;
  readonly #idle: Socket[] = [];
  #gone = false;

  constructor(host: string, port: number, options: ClientOptions = {}) {
    this.#host = host;
    this.#port = port;
    this.#style = options.style ?? 'apache';
    this.#retryNoResponse = options.retryNoResponse ?? false;
  }

  /**
   * Posts a JSON text. Each retry reduces the remaining time limit.
   *
   * @throws ContainerHealthError if `reschedule` is set and the connection is refused
   */
  async post(path: '/init' | '/run', json: string, options: PostOptions): Promise<ContainerAnswer> {
    let left = options.timeoutMs;
    for (;;) {
      const started = Date.now();
      try {
        return await this.#once(path, json, left, options);
      } catch (error) {
        if (!(error instanceof ExchangeError)) throw error;
        if (this.#gone) return { kind: 'connection-error' };
        const retryable =
          error.fault === 'refused' || (this.#retryNoResponse && error.fault === 'no-answer');
        if (retryable && options.reschedule)
          throw new ContainerHealthError(`${this.#host}${path}`, error);
        if (!retryable || !options.retry) return { kind: 'connection-error' };
        if (left <= 0) return { kind: 'timeout' };
        await sleep(RETRY_PAUSE[this.#style]);
        left -= Date.now() - started;
      }
    }
  }

  /**
   * Closes what is kept alive: before a pause and at the container's end (Container.suspend,
   * Container.destroy).
   */
  close(): void {
    for (const socket of this.#idle.splice(0)) socket.destroy();
  }

  /** The container is being removed: nothing is tried again. */
  abandon(): void {
    this.#gone = true;
    this.close();
  }

  get abandoned(): boolean {
    return this.#gone;
  }

  async #once(
    path: string,
    json: string,
    leftMs: number,
    options: PostOptions,
  ): Promise<ContainerAnswer> {
    const maxResponse = options.maxResponse ?? MIB;
    const keep = Math.max(maxResponse, options.truncation ?? MIB);
    // A limit of 0 ms means "none" to Apache's client, but retries end at 0: use one more
    // millisecond.
    const limit = Math.max(1, leftMs);
    const body = Buffer.from(json, 'utf8');
    const socket = this.#take() ?? (await open(this.#host, this.#port, limit));
    let reusable = false;
    try {
      const answer = await exchange(
        socket,
        requestParts(this.#style, `${this.#host}:${this.#port}`, path, body),
        limit,
        keep,
      );
      reusable = this.#style === 'akka' && answer.length !== null;
      return interpret(answer, maxResponse, options.truncation ?? MIB);
    } finally {
      if (reusable && !socket.destroyed) this.#idle.push(socket);
      else socket.destroy();
    }
  }

  #take(): Socket | undefined {
    for (;;) {
      const socket = this.#idle.pop();
      if (!socket || (!socket.destroyed && socket.readable)) return socket;
    }
  }
}

/**
 * What goes out in one system call each: with `apache` a body that does not fit the buffer follows
 * its head.
 */
export function requestParts(
  style: ClientStyle,
  host: string,
  path: string,
  body: Buffer,
): Buffer[] {
  const head = Buffer.from(
    style === 'apache' ? apacheHead(host, path, body.length) : akkaHead(host, path, body.length),
    'latin1',
  );
  if (style === 'apache' && head.length + body.length > APACHE_BUFFER) return [head, body];
  return [Buffer.concat([head, body])];
}

const apacheHead = (host: string, path: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nAccept: application/json\r\nContent-Length: ${length}\r\n` +
  `Content-Type: application/json\r\nHost: ${host}\r\nConnection: Keep-Alive\r\n` +
  'User-Agent: Apache-HttpClient/4.5.13 (Java/17.0.15)\r\nAccept-Encoding: gzip,deflate\r\n\r\n';

/** akka-http renders the given headers first, then Host, User-Agent and the entity's own. */
const akkaHead = (host: string, path: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nAccept: application/json\r\nHost: ${host}\r\n` +
  `User-Agent: akka-http/10.2.4\r\nContent-Type: application/json\r\n` +
  `Content-Length: ${length}\r\n\r\n`;

/** No Content-Length, or 204, count as no answer in both clients. */
function interpret(answer: HttpAnswer, maxResponse: number, truncation: number): ContainerAnswer {
  if (answer.length === null || answer.status === 204) return { kind: 'no-response' };
  const whole = answer.length <= maxResponse;
  return {
    kind: 'response',
    status: answer.status,
    entity: answer.body.subarray(0, whole ? maxResponse : truncation).toString('utf8'),
    truncatedFrom: whole ? null : answer.length,
  };
}
