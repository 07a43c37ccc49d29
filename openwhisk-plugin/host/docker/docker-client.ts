import { Agent, type IncomingMessage, request } from 'node:http';
import type { z } from 'zod';
import {
  type Clock,
  type Millis,
  millis,
  systemClock,
  systemTimers,
  type Timers,
} from '../../../config/index.js';
import { Breaker } from './breaker.js';
import { pingVersion, versionSchema } from './docker-schemas.js';
import {
  EngineResponseError,
  EngineStatusError,
  EngineUnavailableError,
  EngineUnsupportedError,
} from './engine-errors.js';

/**
 * Parallel calls; more make each of them slower, and the invoker uses the same daemon.
 */
const CONCURRENCY = 4;
const LONGEST_ANSWER = 16 * 1024 * 1024;
const LONGEST_QUEUE = 4096;
/** What the field names used here were checked against: API 1.24 to 1.51. */
const OLDEST_API = 24;
const NEWEST_API = 51;

export interface DockerClientOptions {
  /** Path of the Engine's unix socket. */
  readonly socketPath: string;
  /** Per call, waiting for a free slot included. */
  readonly deadline?: Millis;
  readonly clock?: Clock;
  readonly timers?: Timers;
}

/**
 * The Engine API over its unix socket. There is no way to send anything but a `GET`: Gleaner only
 * reads from Docker. Each call has a deadline, at most four run at once, answers are bounded, and
 * an engine that hangs gets no calls for a while.
 */
export class DockerClient {
  readonly #socketPath: string;
  readonly #deadline: Millis;
  readonly #timers: Timers;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY + 1, scheduling: 'lifo' });
  readonly #breaker: Breaker;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #prefix: string | null = null;

  constructor(options: DockerClientOptions) {
    this.#socketPath = options.socketPath;
    this.#deadline = options.deadline ?? millis(5000);
    this.#timers = options.timers ?? systemTimers;
    this.#breaker = new Breaker(options.clock ?? systemClock);
  }

  /** Calls on the wire at this moment: never more than four. */
  get inFlight(): number {
    return this.#running;
  }

  /**
   * The API version to speak, `1.41`: not above the engine's, not below its minimum (Docker 29
   * refuses below 1.44). Asked once, and again after {@link forgetVersion}.
   */
  async apiVersion(): Promise<string> {
    if (this.#prefix === null) {
      const pinged = pingVersion(
        await this.#call('/_ping', (body, response) => ({ body, headers: response.headers })),
      );
      const version = await this.#call('/version', (body) =>
        parse('/version', body, versionSchema),
      );
      this.#prefix = negotiate(version.ApiVersion ?? pinged ?? '', version.MinAPIVersion ?? '1.24');
    }
    return this.#prefix;
  }

  /** The engine may have been upgraded while it was down. */
  forgetVersion(): void {
    this.#prefix = null;
  }

  /**
   * One validated answer. Throws {@link EngineUnavailableError}, {@link EngineStatusError} (404 =
   * gone), {@link EngineAnswerError}.
   * @param path without the version, e.g. `/containers/json`
   */
  async get<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    const version = await this.apiVersion();
    return this.#call(`/v${version}${path}`, (body) => parse(path, body, schema));
  }

  /**
   * An endless answer (`/events`), outside of the four slots and without a deadline once its head
   * is there. Resolves when the engine has accepted; from then on nothing is missed. The caller
   * owns the response.
   */
  async stream(path: string): Promise<IncomingMessage> {
    const version = await this.apiVersion();
    return this.#send(`/v${version}${path}`, false);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #call<T>(path: string, use: (body: string, response: IncomingMessage) => T): Promise<T> {
    if (!this.#breaker.admit()) {
      throw new EngineUnavailableError(
        `the engine at ${this.#socketPath} does not answer; it is left alone for a while`,
      );
    }
    try {
      await this.#slot();
    } catch (error) {
      this.#breaker.failed();
      throw error;
    }
    let isAnswered = false;
    try {
      const response = await this.#send(path, true);
      const body = await this.#body(path, response);
      isAnswered = true;
      this.#breaker.succeeded();
      const status = response.statusCode ?? 0;
      if (status < 200 || status > 299) throw new EngineStatusError(path, status, body);
      return use(body, response);
    } catch (error) {
      if (!isAnswered) this.#breaker.failed();
      throw error;
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }

  /** Waits for one of the four slots, no longer than the deadline. */
  #slot(): Promise<void> {
    if (this.#running < CONCURRENCY) {
      this.#running++;
      return Promise.resolve();
    }
    if (this.#waiting.length >= LONGEST_QUEUE) {
      return Promise.reject(
        new EngineUnavailableError(`${LONGEST_QUEUE} calls are waiting for the engine already`),
      );
    }
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        cancel();
        this.#running++;
        resolve();
      };
      const cancel = this.#timers.after(this.#deadline, () => {
        const index = this.#waiting.indexOf(enter);
        if (index >= 0) this.#waiting.splice(index, 1);
        reject(
          new EngineUnavailableError(`no free slot to the engine within ${this.#deadline} ms`),
        );
      });
      this.#waiting.push(enter);
    });
  }

  #send(path: string, keepAlive: boolean): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const late = (): void => {
        sent.destroy(
          new EngineUnavailableError(`GET ${path} was not answered within ${this.#deadline} ms`),
        );
      };
      const cancel = this.#timers.after(this.#deadline, late);
      const sent = request(
        {
          socketPath: this.#socketPath,
          path,
          method: 'GET',
          agent: keepAlive ? this.#agent : false,
          headers: { Host: 'docker' },
        },
        (response) => {
          cancel();
          resolve(response);
        },
      );
      sent.on('error', (error) => {
        cancel();
        reject(
          error instanceof EngineUnavailableError
            ? error
            : new EngineUnavailableError(
                `GET ${path} at ${this.#socketPath}: ${error.message}`,
                error,
              ),
        );
      });
      sent.end();
    });
  }

  #body(path: string, response: IncomingMessage): Promise<string> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let length = 0;
      const cancel = this.#timers.after(this.#deadline, () => {
        response.destroy(
          new EngineUnavailableError(
            `the answer to GET ${path} did not end within ${this.#deadline} ms`,
          ),
        );
      });
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > LONGEST_ANSWER) {
          response.destroy(
            new EngineResponseError(
              `the answer to GET ${path} is longer than ${LONGEST_ANSWER} bytes`,
            ),
          );
          return;
        }
        chunks.push(chunk);
      });
      response.on('end', () => {
        cancel();
        resolve(Buffer.concat(chunks, length).toString('utf8'));
      });
      response.on('error', (error) => {
        cancel();
        const known =
          error instanceof EngineUnavailableError || error instanceof EngineResponseError;
        reject(known ? error : new EngineUnavailableError(`GET ${path}: ${error.message}`, error));
      });
    });
  }
}

/** Pure; exported for the fuzzer. Throws {@link EngineAnswerError}. */
export function parse<T>(path: string, body: string, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    throw new EngineResponseError(
      `the answer to GET ${path} is not JSON: ${body.slice(0, 80)}`,
      error,
    );
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const first = result.error.issues[0];
  throw new EngineResponseError(
    `the answer to GET ${path}, at ${first?.path.join('.')}: ${first?.message}`,
  );
}

/** Both as `1.41`. Pure; exported for its table of cases. */
export function negotiate(engine: string, minimum: string): string {
  const newest = minor(engine);
  const oldest = minor(minimum);
  if (newest === null || oldest === null) {
    throw new EngineResponseError(
      `the engine names no API version that can be read: ${engine} (from ${minimum})`,
    );
  }
  if (newest < OLDEST_API) {
    throw new EngineUnsupportedError(
      `the engine speaks API 1.${newest} at most; 1.${OLDEST_API} is needed`,
    );
  }
  // An engine whose minimum is above what was checked is spoken to at its minimum: answers are
  // validated anyway.
  return `1.${Math.max(oldest, Math.min(newest, NEWEST_API))}`;
}

function minor(version: string): number | null {
  const match = /^1\.(\d{1,3})$/.exec(version);
  return match?.[1] === undefined ? null : Number(match[1]);
}
