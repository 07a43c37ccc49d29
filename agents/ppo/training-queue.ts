import { type Logger, silentLogger } from '../../broker/index.js';
import { messageOf } from '../../config/index.js';
import type { TrainingJob, TrainingResult } from './training.js';
import { TrainingThreads } from './training-threads.js';

export interface TrainingQueueOptions {
  /** Of the thread; default: the one that updates agents by PPO. */
  readonly script?: URL;
  /** Whose jobs they are, as the log says it. */
  readonly owner?: string;
  readonly logger?: Logger;
}

/** Largest number of waiting jobs; more are dropped, as an agent's next batch is newer anyway. */
const WAITING_MAX = 64;

/**
 * One training thread and a bounded queue before it, for agent hosts: no decision waits, and what
 * is not learned is counted.
 */
export class TrainingQueue<Job = TrainingJob, Result = TrainingResult> {
  /** Jobs that were learned from, not begun for the queue's length, and that failed. */
  readonly counts = { learned: 0, dropped: 0, failures: 0 };
  readonly #threads: TrainingThreads<Job, Result>;
  readonly #owner: string;
  readonly #logger: Logger;

  constructor({ script, owner = 'agents', logger = silentLogger }: TrainingQueueOptions = {}) {
    this.#threads = new TrainingThreads(1, script);
    this.#owner = owner;
    this.#logger = logger;
  }

  /** Null: nothing was learned. Never rejects. */
  async learn(job: Job): Promise<Result | null> {
    if (this.#threads.backlog >= WAITING_MAX) {
      this.counts.dropped++;
      return null;
    }
    try {
      const result = await this.#threads.train(job);
      this.counts.learned++;
      return result;
    } catch (error) {
      this.counts.failures++;
      if (this.counts.failures === 1)
        this.#logger.warn({ error: messageOf(error) }, `${this.#owner} could not learn`);
      return null;
    }
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
