import { Worker } from 'node:worker_threads';
import type { WriteResult } from '../../decision/index.js';
import type { LoweringJob } from './memory-lowering.js';
import type { WorkerRequest } from './memory-worker.js';

/** The worker thread that lowers memory limits. The jobs of one that dies are `refused`. */
export class MemoryLowerer {
  readonly #pending = new Map<number, (result: WriteResult) => void>();
  #worker: Worker | null = null;
  #number = 0;

  lower(job: LoweringJob, generation: Int32Array): Promise<WriteResult> {
    const worker = this.#worker ?? this.#begin();
    const number = ++this.#number;
    const request: WorkerRequest = {
      number,
      job,
      generation,
      requestedGeneration: Atomics.load(generation, 0),
    };
    return new Promise((resolve) => {
      this.#pending.set(number, resolve);
      // A caller waits for this answer, so the process stays alive.
      worker.ref();
      worker.postMessage(request);
    });
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#end(worker);
    await worker?.terminate();
  }

  #begin(): Worker {
    const worker = new Worker(new URL('./memory-worker.js', import.meta.url));
    worker.on('message', (answer: { number: number; result: WriteResult }) => {
      this.#pending.get(answer.number)?.(answer.result);
      this.#pending.delete(answer.number);
      if (this.#pending.size === 0) worker.unref();
    });
    worker.on('error', () => this.#end(worker));
    worker.on('exit', () => this.#end(worker));
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  #end(worker: Worker | null): void {
    if (worker !== this.#worker) return;
    this.#worker = null;
    for (const resolve of this.#pending.values()) resolve('refused');
    this.#pending.clear();
  }
}
