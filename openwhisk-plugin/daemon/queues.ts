import { DroppingQueue, type EventKind } from '../../broker/index.js';
import type { FaasrmExperience, GleanerEvent } from '../../broker/messages/index.js';
import { type ExperienceListener, experienceOf } from '../decision/index.js';

/** An event before it has a host, a sequence and a subject. */
export type PendingEvent = Omit<GleanerEvent, 'v' | 'host' | 'boot' | 'sequence' | 'at'>;

/** What may wait for the next flush; when full, the oldest are dropped. */
const WAITING_MAX = 1024;
/** Experiences in one message. */
const BATCH = 128;

/** Removes up to `most` items. */
function* taken<T>(queue: DroppingQueue<T>, most: number): IterableIterator<T> {
  for (let i = 0; i < most && queue.length > 0; i++) yield queue.shift() as T;
}

/** Events until the next flush. */
export class EventQueue {
  readonly #waiting = new DroppingQueue<PendingEvent>(WAITING_MAX);
  readonly #counts = new Map<EventKind, number>();
  dropped = 0;

  push(event: PendingEvent): void {
    this.#counts.set(event.kind, (this.#counts.get(event.kind) ?? 0) + 1);
    this.dropped += this.#waiting.push(event);
  }

  take(): readonly PendingEvent[] {
    return [...taken(this.#waiting, WAITING_MAX)];
  }

  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}

/** Outcomes of exploratory choices until the next flush. Empty unless a policy explores. */
export class ExperienceQueue {
  readonly #waiting = new DroppingQueue<FaasrmExperience>(WAITING_MAX);
  dropped = 0;

  readonly take: ExperienceListener = (choice, slowdown, { action }) => {
    this.dropped += this.#waiting.push(experienceOf(choice, slowdown, action));
  };

  /** Removes all, in batches of one message. */
  *batches(): IterableIterator<FaasrmExperience[]> {
    while (this.#waiting.length > 0) yield [...taken(this.#waiting, BATCH)];
  }
}
