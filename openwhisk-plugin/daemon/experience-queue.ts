import { DroppingQueue } from '../../broker/index.js';
import type { FaasrmExperience } from '../../broker/messages/index.js';
import { type ExperienceListener, experienceOf } from '../decision/index.js';

/** Lessons that wait for the next flush at most; of more the oldest are dropped. */
const WAITING_MAX = 1024;
/** As many as one message holds. */
const BATCH = 128;

/** What came of drawn choices, until it is sent. Empty unless a policy explores. */
export class ExperienceQueue {
  readonly #waiting = new DroppingQueue<FaasrmExperience>(WAITING_MAX);
  dropped = 0;

  readonly take: ExperienceListener = (choice, slowdown, { action }) => {
    this.dropped += this.#waiting.push(experienceOf(choice, slowdown, action));
  };

  /** In messages' worth. */
  *batches(): IterableIterator<FaasrmExperience[]> {
    while (this.#waiting.length > 0) {
      const batch: FaasrmExperience[] = [];
      while (batch.length < BATCH && this.#waiting.length > 0)
        batch.push(this.#waiting.shift() as FaasrmExperience);
      yield batch;
    }
  }
}
