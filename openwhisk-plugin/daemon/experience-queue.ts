import { DroppingQueue } from '../../broker/index.js';
import type { FaasrmExperience } from '../../broker/messages/index.js';
import { type ExperienceListener, experienceOf } from '../decision/index.js';

/** Experiences that may wait for the next flush; when full, the oldest are dropped. */
const WAITING_MAX = 1024;
/** Experiences in one message. */
const BATCH = 128;

/** Outcomes of exploratory choices until they are sent. Empty unless a policy explores. */
export class ExperienceQueue {
  readonly #waiting = new DroppingQueue<FaasrmExperience>(WAITING_MAX);
  dropped = 0;

  readonly take: ExperienceListener = (choice, slowdown, { action }) => {
    this.dropped += this.#waiting.push(experienceOf(choice, slowdown, action));
  };

  /** Removes all, in batches of one message. */
  *batches(): IterableIterator<FaasrmExperience[]> {
    while (this.#waiting.length > 0) {
      const batch: FaasrmExperience[] = [];
      while (batch.length < BATCH && this.#waiting.length > 0)
        batch.push(this.#waiting.shift() as FaasrmExperience);
      yield batch;
    }
  }
}
