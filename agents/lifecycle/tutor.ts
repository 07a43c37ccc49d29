import type { Logger } from '../../broker/index.js';
import type { Engine } from '../nn/index.js';
import { type TrainingJob, TrainingQueue, type TrainingResult, train } from '../ppo/index.js';
import { type FirmStudyJob, type FirmStudyResult, studyFirm } from './firm-study.js';
import { learnOffline, type OfflineJob, type OfflineResult } from './offline.js';

/** What an apprentice learns at a time: from what it has watched, or from what it did itself. Plain data. */
export type Lesson =
  | { readonly kind: 'study'; readonly job: OfflineJob }
  | { readonly kind: 'firm-study'; readonly job: FirmStudyJob }
  | { readonly kind: 'update'; readonly job: TrainingJob };

export type Learnt = OfflineResult | FirmStudyResult | TrainingResult;

/** Where apprentices learn when not where they decide. Null: nothing was learnt, and the apprentice goes on with the weights it has. */
export interface Tutor {
  study(job: OfflineJob): Promise<OfflineResult | null>;
  studyFirm(job: FirmStudyJob): Promise<FirmStudyResult | null>;
  update(job: TrainingJob): Promise<TrainingResult | null>;
  close(): Promise<void>;
}

export function teach(engine: Engine, lesson: Lesson): Learnt {
  if (lesson.kind === 'study') return learnOffline(engine, lesson.job);
  return lesson.kind === 'firm-study' ? studyFirm(engine, lesson.job) : train(engine, lesson.job);
}

/** Teaches in a worker thread, so that no decision waits for it: for agent hosts. */
export class ThreadTutor implements Tutor {
  readonly #queue: TrainingQueue<Lesson, Learnt>;

  constructor(logger?: Logger) {
    const script = new URL('tutor-thread.js', import.meta.url);
    this.#queue = new TrainingQueue({ script, whose: 'agents of manager aware', logger });
  }

  get counts(): TrainingQueue['counts'] {
    return this.#queue.counts;
  }

  study(job: OfflineJob): Promise<OfflineResult | null> {
    return this.#queue.learn({ kind: 'study', job }) as Promise<OfflineResult | null>;
  }

  studyFirm(job: FirmStudyJob): Promise<FirmStudyResult | null> {
    return this.#queue.learn({ kind: 'firm-study', job }) as Promise<FirmStudyResult | null>;
  }

  update(job: TrainingJob): Promise<TrainingResult | null> {
    return this.#queue.learn({ kind: 'update', job }) as Promise<TrainingResult | null>;
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
