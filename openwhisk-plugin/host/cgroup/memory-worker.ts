import { parentPort } from 'node:worker_threads';
import { type LoweringJob, lowerMemoryNow } from './memory-lowering.js';

/** The one worker thread of {@link MemoryLowerer}: jobs in, results out, one after the other. */
export interface WorkerRequest {
  readonly number: number;
  readonly job: LoweringJob;
  /** Shared with the handle: counts its newer changes. */
  readonly generation: Int32Array;
  readonly requestedGeneration: number;
}

parentPort?.on('message', (request: WorkerRequest) => {
  const result = lowerMemoryNow(
    request.job,
    () => Atomics.load(request.generation, 0) === request.requestedGeneration,
  );
  parentPort?.postMessage({ number: request.number, result });
});
