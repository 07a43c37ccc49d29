import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../../config/index.js';
import { defaultEngine } from '../../nn/index.js';
import type { FromTrainingThread } from '../../ppo/index.js';
import {
  type OfflineTrainingJob,
  type OfflineTrainingResult,
  runTraining,
} from './offline-trainer.js';

/** The worker of `ThreadOfflineTrainer`: one engine, one job after the other. */
const port = parentPort!;
const send = (message: FromTrainingThread<OfflineTrainingResult>): void =>
  port.postMessage(message);
// The process that started this thread has printed the engine's warnings already.
const engine = defaultEngine(() => {});

port.on('message', (request: OfflineTrainingJob) => {
  try {
    send({ result: runTraining(engine, request) });
  } catch (error) {
    send({ error: messageOf(error) });
  }
});
