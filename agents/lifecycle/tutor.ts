import type { Engine } from '../nn/index.js';
import { type TrainingJob, type TrainingResult, TrainingThreads, train } from '../ppo/index.js';
import { learnOffline, type OfflineJob, type OfflineResult } from './offline.js';

/** What an apprentice learns at a time: from what it has watched, or from what it did itself. Plain data. */
export type Lesson =
  | { readonly kind: 'study'; readonly job: OfflineJob }
  | { readonly kind: 'update'; readonly job: TrainingJob };

export type Learnt<Kind extends Lesson['kind'] = Lesson['kind']> = Kind extends 'study'
  ? OfflineResult
  : TrainingResult;

/** Where apprentices learn when not where they decide. Null: nothing was learnt, and the apprentice goes on with the weights it has. */
export interface Tutor {
  study(job: OfflineJob): Promise<OfflineResult | null>;
  update(job: TrainingJob): Promise<TrainingResult | null>;
  close(): Promise<void>;
}

export const teach = (engine: Engine, lesson: Lesson): Learnt =>
  lesson.kind === 'study' ? learnOffline(engine, lesson.job) : train(engine, lesson.job);

/** Lessons that wait at most: what comes on top is not learnt, as an apprentice's next episode is newer anyway. */
const WAITING_MAX = 64;

/** Teaches in a worker thread, so that no decision waits for it: for agent hosts. */
export class ThreadTutor implements Tutor {
  readonly #threads = new TrainingThreads<Lesson, Learnt>(1, new URL('tutor-thread.js', import.meta.url));

  study(job: OfflineJob): Promise<OfflineResult | null> {
    return this.#teach('study', { kind: 'study', job });
  }

  update(job: TrainingJob): Promise<TrainingResult | null> {
    return this.#teach('update', { kind: 'update', job });
  }

  close(): Promise<void> {
    return this.#threads.close();
  }

  async #teach<Kind extends Lesson['kind']>(_: Kind, lesson: Lesson & { kind: Kind }): Promise<Learnt<Kind> | null> {
    if (this.#threads.backlog >= WAITING_MAX) return null;
    return await this.#threads.train(lesson).then(
      (learnt) => learnt as Learnt<Kind>,
      () => null,
    );
  }
}
