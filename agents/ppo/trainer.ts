import type { Logger } from '../../broker/index.js';
import type { Engine } from '../nn/index.js';
import { type TrainingJob, type TrainingResult, train } from './training.js';
import { TrainingQueue } from './training-queue.js';

/** `done` is called once, now or later; null: nothing was learned, the weights are unchanged. */
export interface Trainer {
  train(job: TrainingJob, done: (result: TrainingResult | null) => void): void;
  close(): Promise<void>;
}

/** Learns where it is asked to, at once: for simulators. */
export class InlineTrainer implements Trainer {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  train(job: TrainingJob, done: (result: TrainingResult | null) => void): void {
    done(train(this.#engine, job));
  }

  async close(): Promise<void> {}
}

/** Learns in a worker thread, so that no decision waits for it: for agent hosts. */
export class ThreadTrainer implements Trainer {
  readonly #queue: TrainingQueue;

  constructor(logger?: Logger) {
    this.#queue = new TrainingQueue({ logger });
  }

  get counts(): TrainingQueue['counts'] {
    return this.#queue.counts;
  }

  train(job: TrainingJob, done: (result: TrainingResult | null) => void): void {
    void this.#queue.learn(job).then(done);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
