import { Agent, type IncomingMessage, request } from 'node:http';
import type { z } from 'zod';
import { type Millis, millis, systemClock, systemTimers } from '../../../config/index.js';
import {
  EngineResponseError,
  EngineStatusError,
  EngineUnavailableError,
  EngineUnsupportedError,
  engineError,
} from '../engine/index.js';
import { versionSchema } from './docker-schemas.js';

/** Parallel calls; more make each of them slower, and the invoker uses the same daemon. */
const CONCURRENCY = 4;
const LONGEST_ANSWER = 16 * 1024 * 1024;
const LONGEST_QUEUE = 4096;
/** The API versions against which the field names used here were checked: 1.25 to 1.51. */
const OLDEST_API = 25;
const NEWEST_API = 51;

const FAILURES_TO_OPEN = 5;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

/**
 * Stops asking an engine that does not answer: after five failures in a row it gets no calls for a
 * while (0.5 s, doubling to 10 s), then one call may try.
 */
class Breaker {
  #failures = 0;
  #pause = FIRST_PAUSE;
  #closedFrom = 0;
  #isTrial = false;

  /** A caller that gets true reports how its call ended. */
  admit(): boolean {
    if (this.#failures < FAILURES_TO_OPEN) return true;
    if (this.#isTrial || systemClock.monotonic() < this.#closedFrom) return false;
    this.#isTrial = true;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pause = FIRST_PAUSE;
    this.#isTrial = false;
  }

  failed(): void {
    this.#failures++;
    if (this.#failures < FAILURES_TO_OPEN) return;
    if (this.#isTrial) this.#pause = Math.min(LONGEST_PAUSE, this.#pause * 2);
    this.#isTrial = false;
    this.#closedFrom = systemClock.monotonic() + this.#pause;
  }
}

export interface DockerClientOptions {
  /** Path of the Engine's unix socket. */
  readonly socketPath: string;
  /** For a free slot, for the head of an answer, and for its body. Default 5 s. */
  readonly deadline?: Millis;
}

/**
 * The Engine API over its unix socket, by `GET` only: Gleaner never changes anything in Docker. At
 * most four calls run at once, answers are bounded, and each step of a call has a deadline.
 */
export class DockerClient {
  readonly #socketPath: string;
  readonly #deadline: Millis;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY + 1, scheduling: 'lifo' });
  readonly #breaker = new Breaker();
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #version: string | null = null;

  constructor({ socketPath, deadline = millis(5000) }: DockerClientOptions) {
    this.#socketPath = socketPath;
    this.#deadline = deadline;
  }

  /**
   * The API version to use, `1.41`: not above the engine's, not below its minimum (Docker 29
   * refuses below 1.44). Asked once, and again after {@link forgetVersion}.
   */
  async apiVersion(): Promise<string> {
    if (this.#version === null) {
      const pinged = await this.#call('/_ping', (_body, { headers }) => headers['api-version']);
      const version = await this.#call('/version', (body) =>
        parse('/version', body, versionSchema),
      );
      this.#version = negotiate(
        String(version.ApiVersion ?? pinged ?? ''),
        version.MinAPIVersion ?? '1.24',
      );
    }
    return this.#version;
  }

  /** The engine may have been upgraded while it was down. */
  forgetVersion(): void {
    this.#version = null;
  }

  /**
   * One validated answer to a `path` without the version. Throws {@link EngineUnavailableError},
   * {@link EngineStatusError} (404 = gone), {@link EngineResponseError}.
   */
  async get<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    const version = await this.apiVersion();
    return this.#call(`/v${version}${path}`, (body) => parse(path, body, schema));
  }

  /**
   * An endless answer (`/events`), outside of the four slots and without a deadline after its head.
   * Resolves when the engine has accepted; from then on nothing is missed. The caller owns it.
   */
  async stream(path: string): Promise<IncomingMessage> {
    const version = await this.apiVersion();
    return this.#send(`/v${version}${path}`, false);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #call<T>(path: string, use: (body: string, response: IncomingMessage) => T): Promise<T> {
    if (!this.#breaker.admit())
      throw new EngineUnavailableError(
        `the engine at ${this.#socketPath} does not answer; it is left alone for a while`,
      );
    let body: string;
    let response: IncomingMessage;
    try {
      await this.#slot();
      try {
        response = await this.#send(path, true);
        body = await this.#body(path, response);
      } finally {
        this.#running--;
        this.#waiting.shift()?.();
      }
    } catch (error) {
      this.#breaker.failed();
      throw error;
    }
    this.#breaker.succeeded();
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw new EngineStatusError(`GET ${path}`, status, body);
    return use(body, response);
  }

  /** Waits for one of the four slots, no longer than the deadline. */
  async #slot(): Promise<void> {
    if (this.#running < CONCURRENCY) {
      this.#running++;
      return;
    }
    if (this.#waiting.length >= LONGEST_QUEUE)
      throw new EngineUnavailableError(`${LONGEST_QUEUE} calls are waiting for the engine already`);
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        cancel();
        this.#running++;
        resolve();
      };
      const cancel = systemTimers.after(this.#deadline, () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(
          new EngineUnavailableError(`no free slot to the engine within ${this.#deadline} ms`),
        );
      });
      this.#waiting.push(enter);
    });
  }

  #send(path: string, keepAlive: boolean): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request({
        socketPath: this.#socketPath,
        path,
        method: 'GET',
        agent: keepAlive ? this.#agent : false,
        headers: { Host: 'docker' },
      });
      const cancel = systemTimers.after(this.#deadline, () =>
        sent.destroy(
          new EngineUnavailableError(`GET ${path} was not answered within ${this.#deadline} ms`),
        ),
      );
      sent.on('response', (response) => {
        cancel();
        resolve(response);
      });
      sent.on('error', (error) => {
        cancel();
        reject(engineError(error, `GET ${path} at ${this.#socketPath}`));
      });
      // Node closes a request whose answer switches protocols (101) without any other event.
      sent.on('close', () => {
        cancel();
        reject(new EngineUnavailableError(`GET ${path} was closed without an answer`));
      });
      sent.end();
    });
  }

  async #body(path: string, response: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    let length = 0;
    const cancel = systemTimers.after(this.#deadline, () =>
      response.destroy(
        new EngineUnavailableError(
          `the answer to GET ${path} did not end within ${this.#deadline} ms`,
        ),
      ),
    );
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > LONGEST_ANSWER)
          throw new EngineResponseError(
            `the answer to GET ${path} is longer than ${LONGEST_ANSWER} bytes`,
          );
        chunks.push(chunk);
      }
      return Buffer.concat(chunks, length).toString('utf8');
    } catch (error) {
      throw engineError(error, `GET ${path}`);
    } finally {
      cancel();
    }
  }
}

/** Pure; exported for the fuzzer. Throws {@link EngineResponseError}. */
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
      `the engine's newest API is 1.${newest}; 1.${OLDEST_API} is needed`,
    );
  }
  // An engine whose minimum is above what was checked gets requests of its minimum: answers are
  // validated anyway.
  return `1.${Math.max(oldest, Math.min(newest, NEWEST_API))}`;
}

function minor(version: string): number | null {
  const match = /^1\.(\d{1,3})$/.exec(version);
  return match?.[1] === undefined ? null : Number(match[1]);
}
