import type { Cancel, Clock, Micros, Millis, Timers } from '../../config/index.js';

interface Entry {
  at: number;
  order: number;
  readonly run: () => unknown;
  readonly period: number;
}

/** A clock and timers that a test advances; equal times fire in the order of their calls. */
export class ManualTime implements Clock, Timers {
  #now: number;
  readonly #epoch: number;
  #order = 0;
  #queue: Entry[] = [];
  readonly #running = new Set<unknown>();

  constructor(epochMicros = 1_700_000_000_000_000, startMillis = 0) {
    this.#epoch = epochMicros;
    this.#now = startMillis;
  }

  monotonic(): Millis {
    return this.#now as Millis;
  }

  wall(): Micros {
    return (this.#epoch + this.#now * 1000) as Micros;
  }

  /** Timers that are neither over nor cancelled. */
  get pending(): number {
    return this.#queue.length;
  }

  after(delay: Millis, run: () => void): Cancel {
    return this.#add(delay, run, 0);
  }

  every(period: Millis, run: () => void): Cancel {
    return this.#add(period, run, period);
  }

  /** Moves time forward, running what falls due on the way, each at its own time. */
  advance(by: Millis): void {
    const until = this.#now + by;
    for (;;) {
      let next: Entry | undefined;
      for (const entry of this.#queue) {
        if (entry.at > until) continue;
        if (!next || entry.at < next.at || (entry.at === next.at && entry.order < next.order))
          next = entry;
      }
      if (!next) break;
      this.#now = Math.max(this.#now, next.at);
      if (next.period > 0) {
        next.at += next.period;
        next.order = this.#order++;
      } else {
        this.#queue.splice(this.#queue.indexOf(next), 1);
      }
      const result = next.run();
      if (result instanceof Promise) this.#await(result);
    }
    this.#now = until;
  }

  /** Resolves once the work that `advance` has begun is done. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #await(work: Promise<unknown>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  #add(delay: number, run: () => unknown, period: number): Cancel {
    const entry = { at: this.#now + Math.max(0, delay), order: this.#order++, run, period };
    this.#queue.push(entry);
    return () => {
      const index = this.#queue.indexOf(entry);
      if (index >= 0) this.#queue.splice(index, 1);
    };
  }
}
