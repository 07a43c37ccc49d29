import { Worker } from 'node:worker_threads';
import type { MetaProgress } from './meta-training.js';
import type { TrainingRequest } from './training-thread.js';

/**
 * Trains the meta-learner on the 800 applications in a worker thread, and keeps it in the request's
 * folder.
 */
export function trainInThread(
  request: TrainingRequest,
  onRound: (progress: MetaProgress) => void,
): Promise<void> {
  const worker = new Worker(new URL('training-thread.js', import.meta.url), {
    workerData: { kind: 'aware-training', request },
  });
  return new Promise((resolve, reject) => {
    worker.on('message', onRound);
    worker.on('error', reject);
    worker.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`the training thread ended with ${code}`)),
    );
  });
}
