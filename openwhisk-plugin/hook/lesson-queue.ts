import type { Lesson } from '../../broker/index.js';
import { type Lessons, lessonOf } from '../policies/index.js';

/** Lessons that wait for the next flush at most: what comes on top is dropped, as a learner's batch is full sooner. */
const WAITING_MAX = 1024;
/** As many as one message holds. */
const BATCH = 128;

/** What came of drawn choices, until it is sent. Empty unless a policy explores. */
export class LessonQueue {
  #waiting: Lesson[] = [];
  dropped = 0;

  readonly take: Lessons = (choice, slowdown, { action }) => {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(lessonOf(choice, slowdown, action));
    else this.dropped++;
  };

  /** In messages' worth. */
  *batches(): IterableIterator<Lesson[]> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (let at = 0; at < waiting.length; at += BATCH) yield waiting.slice(at, at + BATCH);
  }
}
