import { type Logger, silentLogger } from '../../broker/index.js';
import { messageOf } from '../../config/index.js';
import type { Engine } from '../nn/index.js';
import { type TrainingJob, type TrainingResult, TrainingThreads, train } from '../ppo/index.js';

/**
 * Where agents learn. `done` is called once: before `train` returns (`InlineTrainer`) or later (`ThreadTrainer`); with null where nothing was
 * learnt, and the agent goes on with the weights it has.
 */
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

/** Jobs that wait at most: what comes on top is not learnt from, as an agent's next batch is newer anyway. */
const WAITING_MAX = 64;

/** Learns in a worker thread, so that no decision waits for it: for agent hosts. */
export class ThreadTrainer implements Trainer {
  readonly #threads = new TrainingThreads(1);
  readonly #logger: Logger;
  /** Updates that were made, not begun for the queue's length, and that failed. */
  readonly counts = { learnt: 0, dropped: 0, failures: 0 };

  constructor(logger: Logger = silentLogger) {
    this.#logger = logger;
  }

  train(job: TrainingJob, done: (result: TrainingResult | null) => void): void {
    if (this.#threads.backlog >= WAITING_MAX) {
      this.counts.dropped++;
      done(null);
      return;
    }
    this.#threads.train(job).then(
      (result) => {
        this.counts.learnt++;
        done(result);
      },
      (error: unknown) => {
        this.counts.failures++;
        if (this.counts.failures === 1) this.#logger.warn({ error: messageOf(error) }, 'agents could not learn');
        done(null);
      },
    );
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
