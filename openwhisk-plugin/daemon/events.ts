import type { EventKind } from '../../broker/index.js';
import type { GleanerEvent } from '../../broker/messages/index.js';

/** An event before it has a host, a sequence and a subject. */
export type PendingEvent = Omit<GleanerEvent, 'v' | 'host' | 'boot' | 'sequence' | 'at'>;

const CAPACITY = 1024;

/**
 * Events until the next flush. When full, the oldest are dropped: telemetry must not grow memory.
 */
export class EventQueue {
  #events: PendingEvent[] = [];
  #dropped = 0;
  readonly #counts = new Map<EventKind, number>();

  get dropped(): number {
    return this.#dropped;
  }

  push(event: PendingEvent): void {
    this.#counts.set(event.kind, (this.#counts.get(event.kind) ?? 0) + 1);
    if (this.#events.length >= CAPACITY) {
      this.#events.shift();
      this.#dropped++;
    }
    this.#events.push(event);
  }

  take(): readonly PendingEvent[] {
    const taken = this.#events;
    if (taken.length > 0) this.#events = [];
    return taken;
  }

  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
