import { Worker } from 'node:worker_threads';
import { errorClass } from '../../config/index.js';
import type { TrainingJob, TrainingResult } from './training.js';

/** A training job had no result; the agent keeps the weights it has. */
export class TrainingError extends errorClass('GLN_PPO_TRAINING') {}

export type FromTrainingThread<Result = TrainingResult> =
  | { readonly result: Result }
  | { readonly error: string };

interface Waiting<Job, Result> {
  readonly job: Job;
  resolve(result: Result): void;
  reject(error: TrainingError): void;
}

/**
 * Updates in worker threads, so that no decision waits for one; other jobs, with a script of their
 * own. Jobs are taken in the order they come; the thread changes nothing but the time. A thread
 * that dies fails its own job and is replaced. Idle threads do not keep a process alive.
 */
export class TrainingThreads<Job = TrainingJob, Result = TrainingResult> {
  readonly #size: number;
  readonly #script: URL;
  readonly #idle: Worker[] = [];
  readonly #busy = new Map<Worker, Waiting<Job, Result>>();
  readonly #queue: Waiting<Job, Result>[] = [];
  #closed = false;

  constructor(size: number, script = new URL('training-thread.js', import.meta.url)) {
    this.#size = size;
    this.#script = script;
  }

  /** Jobs that wait for a thread. */
  get backlog(): number {
    return this.#queue.length;
  }

  /** Rejects with `GLN_PPO_TRAINING`. */
  train(job: Job): Promise<Result> {
    if (this.#closed) return Promise.reject(new TrainingError('the threads are closed'));
    return new Promise((resolve, reject) => {
      this.#queue.push({ job, resolve, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const threads = [...this.#idle, ...this.#busy.keys()];
    for (const waiting of [...this.#queue.splice(0), ...this.#busy.values()])
      waiting.reject(new TrainingError('the threads are closed'));
    this.#busy.clear();
    this.#idle.length = 0;
    await Promise.all(threads.map((thread) => thread.terminate()));
  }

  #next(): void {
    while (this.#queue.length > 0) {
      const thread = this.#idle.pop() ?? (this.#busy.size < this.#size ? this.#start() : undefined);
      if (!thread) return;
      const waiting = this.#queue.shift()!;
      this.#busy.set(thread, waiting);
      thread.ref();
      thread.postMessage(waiting.job);
    }
  }

  #start(): Worker {
    const thread = new Worker(this.#script);
    thread.on('message', (message: FromTrainingThread<Result>) => {
      const waiting = this.#busy.get(thread);
      if (!waiting) return;
      this.#busy.delete(thread);
      this.#idle.push(thread);
      thread.unref();
      if ('result' in message) waiting.resolve(message.result);
      else waiting.reject(new TrainingError(message.error));
      this.#next();
    });
    let cause: unknown;
    thread.on('error', (error) => {
      cause = error;
    });
    thread.on('exit', () => {
      const waiting = this.#busy.get(thread);
      this.#busy.delete(thread);
      const idle = this.#idle.indexOf(thread);
      if (idle >= 0) this.#idle.splice(idle, 1);
      waiting?.reject(new TrainingError('its thread ended', cause));
      if (!this.#closed) this.#next();
    });
    return thread;
  }
}
