import { DroppingQueue, type Lesson } from '../../broker/index.js';
import { type Lessons, lessonOf } from '../policies/index.js';

/** Lessons that wait for the next flush at most; of more the oldest are dropped. */
const WAITING_MAX = 1024;
/** As many as one message holds. */
const BATCH = 128;

/** What came of drawn choices, until it is sent. Empty unless a policy explores. */
export class LessonQueue {
  readonly #waiting = new DroppingQueue<Lesson>(WAITING_MAX);
  dropped = 0;

  readonly take: Lessons = (choice, slowdown, { action }) => {
    this.dropped += this.#waiting.push(lessonOf(choice, slowdown, action));
  };

  /** In messages' worth. */
  *batches(): IterableIterator<Lesson[]> {
    while (this.#waiting.length > 0) {
      const batch: Lesson[] = [];
      while (batch.length < BATCH && this.#waiting.length > 0) batch.push(this.#waiting.shift() as Lesson);
      yield batch;
    }
  }
}
