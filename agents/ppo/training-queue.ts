import { Worker } from 'node:worker_threads';
import { type Logger, silentLogger } from '../../broker/index.js';
import { messageOf } from '../../config/index.js';
import type { TrainingJob, TrainingResult } from './training.js';

export type FromTrainingThread<Result = TrainingResult> =
  | { readonly result: Result }
  | { readonly error: string };

export interface TrainingQueueOptions {
  /** The thread's script; default: the one that updates agents by PPO. */
  readonly script?: URL;
  /** Whose jobs they are, for the log. */
  readonly owner?: string;
  readonly logger?: Logger;
}

interface Waiting<Job, Result> {
  readonly job: Job;
  /** Null: nothing was learned. */
  readonly done: (result: Result | null) => void;
}

/** Largest number of waiting jobs; more are dropped, as an agent's next batch is newer anyway. */
const WAITING_MAX = 64;

/**
 * One training thread and a bounded queue before it, so that no decision waits for an update. Jobs
 * run in order, and what is not learned is counted. A thread that dies fails its own job and is
 * replaced; an idle one does not keep the process alive.
 */
export class TrainingQueue<Job = TrainingJob, Result = TrainingResult> {
  /** Jobs that were learned from, not begun for the queue's length, and that failed. */
  readonly counts = { learned: 0, dropped: 0, failures: 0 };
  readonly #script: URL;
  readonly #owner: string;
  readonly #logger: Logger;
  readonly #waiting: Waiting<Job, Result>[] = [];
  #running: Waiting<Job, Result> | null = null;
  #thread: Worker | null = null;
  #closed = false;

  constructor({
    script = new URL('training-thread.js', import.meta.url),
    owner = 'agents',
    logger = silentLogger,
  }: TrainingQueueOptions = {}) {
    this.#script = script;
    this.#owner = owner;
    this.#logger = logger;
  }

  /** Null: nothing was learned. Never rejects. */
  learn(job: Job): Promise<Result | null> {
    return new Promise((done) => {
      if (this.#closed || this.#waiting.length >= WAITING_MAX) {
        this.counts.dropped++;
        done(null);
        return;
      }
      this.#waiting.push({ job, done });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { done } of this.#waiting.splice(0)) done(null);
    this.#running?.done(null);
    this.#running = null;
    await this.#thread?.terminate();
  }

  #next(): void {
    if (this.#running !== null || this.#waiting.length === 0) return;
    this.#running = this.#waiting.shift()!;
    try {
      this.#thread ??= this.#start();
      this.#thread.postMessage(this.#running.job);
      this.#thread.ref();
    } catch (error) {
      this.#ended(null, messageOf(error));
    }
  }

  #start(): Worker {
    const thread = new Worker(this.#script);
    let cause = 'its thread ended';
    thread.on('message', (message: FromTrainingThread<Result>) => {
      thread.unref();
      if ('error' in message) this.#ended(null, message.error);
      else this.#ended(message.result);
    });
    thread.on('error', (error) => {
      cause = messageOf(error);
    });
    thread.on('exit', () => {
      this.#thread = null;
      this.#ended(null, cause);
    });
    // Listeners keep the process alive, and the first job may be one that cannot be sent.
    thread.unref();
    return thread;
  }

  #ended(result: Result | null, error?: string): void {
    const running = this.#running;
    if (running === null) return;
    this.#running = null;
    if (error === undefined) this.counts.learned++;
    else if (this.counts.failures++ === 0)
      this.#logger.warn({ error }, `${this.#owner} could not learn`);
    running.done(result);
    this.#next();
  }
}
