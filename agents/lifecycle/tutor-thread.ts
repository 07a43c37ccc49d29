import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../config/index.js';
import { defaultEngine } from '../nn/index.js';
import type { FromTrainingThread } from '../ppo/index.js';
import { type Learnt, type Lesson, teach } from './tutor.js';

/** The other side of `ThreadTutor`: one engine, one lesson after the other. */
const port = parentPort!;
const send = (message: FromTrainingThread<Learnt>): void => port.postMessage(message);
// Whoever started this thread has warned already.
const engine = defaultEngine(() => {});

port.on('message', (lesson: Lesson) => {
  try {
    send({ result: teach(engine, lesson) });
  } catch (error) {
    send({ error: messageOf(error) });
  }
});
