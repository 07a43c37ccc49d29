import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../config/index.js';
import { defaultEngine } from '../nn/index.js';
import { type TrainingJob, train } from './training.js';
import type { FromTrainingThread } from './training-queue.js';

/** The other side of `TrainingQueue`: one engine, one job after the other. */
const port = parentPort!;
const send = (message: FromTrainingThread): void => port.postMessage(message);
// The process that started this thread has printed the engine's warnings already.
const engine = defaultEngine(() => {});

port.on('message', (job: TrainingJob) => {
  try {
    send({ result: train(engine, job) });
  } catch (error) {
    send({ error: messageOf(error) });
  }
});
