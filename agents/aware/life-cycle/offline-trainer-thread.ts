import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../../config/index.js';
import { defaultEngine } from '../../nn/index.js';
import type { FromTrainingThread } from '../../ppo/index.js';
import { type Lesson, type OfflineTrainingResult, runTraining } from './offline-trainer.js';

/** The other side of `ThreadTutor`: one engine, one lesson after the other. */
const port = parentPort!;
const send = (message: FromTrainingThread<OfflineTrainingResult>): void =>
  port.postMessage(message);
// Whoever started this thread has warned already.
const engine = defaultEngine(() => {});

port.on('message', (request: Lesson) => {
  try {
    send({ result: runTraining(engine, request) });
  } catch (error) {
    send({ error: messageOf(error) });
  }
});
