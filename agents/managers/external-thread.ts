import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads';
import type { Logger } from '../../broker/index.js';
import { type Millis, messageOf, millis } from '../../config/index.js';
import type { Cap, View } from '../resource-manager.js';
import { ManagerModuleError } from './module-path.js';

/** Argument of a module's default export. */
export interface ExternalSettings {
  readonly cap: Cap;
  readonly preset: 'default' | 'freyr';
  readonly seed: number;
}

export interface ExternalThreadData {
  readonly url: string;
  readonly settings: ExternalSettings;
  /** Names of the built-in managers, which a module must not use. */
  readonly builtIn: readonly string[];
  readonly signal: SharedArrayBuffer;
}

export type ExternalCall =
  | {
      readonly method: 'decide';
      readonly fn: string;
      readonly begun: boolean;
      readonly state: unknown;
      readonly view: Omit<View, 'random'>;
      readonly seed: number;
      readonly now: Millis;
    }
  | { readonly method: 'saveState'; readonly state: unknown; readonly now: Millis }
  | {
      readonly method: 'loadState';
      readonly fn: string;
      readonly saved: unknown;
      readonly now: Millis;
    }
  | { readonly method: 'retrain'; readonly state: unknown };

export type ExternalAnswer = { readonly value: unknown } | { readonly error: string };

/** Longest time to load a module, ms. */
const LOAD_MILLIS = 30_000;

export interface ThreadTimes {
  /** Longest wait for an answer, during which the agent host does nothing else. */
  readonly answer: Millis;
  /** Least time between two starts of the thread. */
  readonly restart: Millis;
}

const THREAD_TIMES: ThreadTimes = { answer: millis(500), restart: millis(5000) };
const HEAP_MIB = 512;

/** Calls are synchronous; a thread that does not answer in time is ended and restarted later. */
export class ExternalThread {
  readonly #data: Omit<ExternalThreadData, 'signal'>;
  readonly #file: string;
  readonly #logger: Logger | undefined;
  readonly #flag = new Int32Array(new SharedArrayBuffer(4));
  readonly #times: ThreadTimes;
  #worker: Worker | null = null;
  #port: MessagePort | null = null;
  #ready = false;
  #id = 0;
  #startedAt = Number.NEGATIVE_INFINITY;
  #ended = 'it was not started';
  #closed = false;

  constructor(
    file: string,
    data: Omit<ExternalThreadData, 'signal'>,
    logger?: Logger,
    times = THREAD_TIMES,
  ) {
    this.#file = file;
    this.#data = data;
    this.#logger = logger;
    this.#times = times;
  }

  /** Starts the thread and returns the module's manifest. Rejects with a ManagerModuleError. */
  start(): Promise<unknown> {
    this.#startedAt = performance.now();
    const { port1, port2 } = new MessageChannel();
    const worker = new Worker(new URL('external-module.js', import.meta.url), {
      workerData: { ...this.#data, signal: this.#flag.buffer, port: port2 },
      transferList: [port2],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
      name: 'manager module',
    });
    worker.unref();
    port1.unref();
    this.#worker = worker;
    this.#port = port1;
    return new Promise((resolve, reject) => {
      const fail = (what: string): void => {
        this.#end(worker, what);
        reject(new ManagerModuleError(this.#file, what));
      };
      const late = setTimeout(() => fail(`it did not load within ${LOAD_MILLIS} ms`), LOAD_MILLIS);
      port1.once('message', (answer: ExternalAnswer) => {
        clearTimeout(late);
        // Later answers are read synchronously by the calls.
        port1.removeAllListeners('message');
        port1.unref();
        this.#ready = true;
        resolve('value' in answer ? answer.value : null);
      });
      worker.on('error', (error) => {
        clearTimeout(late);
        fail(messageOf(error));
      });
      worker.on('exit', () => {
        clearTimeout(late);
        fail('its thread ended');
      });
    });
  }

  /** Throws a ManagerModuleError if the module fails, ends or takes too long. */
  call(call: ExternalCall): unknown {
    if (!this.#ready || this.#port === null) {
      this.#startAgain();
      throw new ManagerModuleError(this.#file, this.#ended);
    }
    // Never 0, and never the previous call's.
    this.#id = (this.#id % 0x7fffffff) + 1;
    this.#port.postMessage({ id: this.#id, call });
    const answer = this.#answered(this.#id)
      ? (receiveMessageOnPort(this.#port)?.message as ExternalAnswer | undefined)
      : undefined;
    if (answer === undefined) {
      this.#end(this.#worker, `no answer within ${this.#times.answer} ms`);
      throw new ManagerModuleError(this.#file, this.#ended);
    }
    if ('error' in answer) throw new ManagerModuleError(this.#file, answer.error);
    return answer.value;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
  }

  /** Waits until the thread has written the call's id. */
  #answered(id: number): boolean {
    const until = performance.now() + this.#times.answer;
    for (;;) {
      const last = Atomics.load(this.#flag, 0);
      if (last === id) return true;
      const left = until - performance.now();
      if (left <= 0) return false;
      Atomics.wait(this.#flag, 0, last, left);
    }
  }

  #startAgain(): void {
    if (
      this.#closed ||
      this.#worker !== null ||
      performance.now() - this.#startedAt < this.#times.restart
    )
      return;
    this.start().catch(() => undefined);
  }

  #end(worker: Worker | null, why: string): void {
    if (worker === null || worker !== this.#worker) return;
    this.#worker = null;
    this.#ready = false;
    this.#ended = why;
    this.#port?.close();
    this.#port = null;
    void worker.terminate();
    const text =
      `manager module ${this.#file} ended: ${why}; ` +
      'its functions run at user limits until it is restarted';
    if (!this.#closed)
      this.#logger?.error({ event: 'manager_module_ended', module: this.#file, error: why }, text);
  }
}
