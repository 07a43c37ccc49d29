import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../config/index.js';
import { simulateCluster } from '../../simulator/engine/index.js';
import { runJob, WorkloadCache } from './job.js';
import type { Batch, FromWorker } from './pool.js';

/** The other side of `runJobs`: one batch after the other, each result as soon as it is there. */
const workloadCache = new WorkloadCache();
const port = parentPort!;
const send = (message: FromWorker): void => port.postMessage(message);

port.on('message', (batch: Batch) => {
  for (const job of batch) {
    try {
      send({ result: runJob(job, workloadCache, simulateCluster) });
    } catch (error) {
      send({ failed: { index: job.index, error: messageOf(error) } });
    }
  }
  send({ idle: true });
});
