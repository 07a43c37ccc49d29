import type { Logger } from './logger.js';

/**
 * Lets one line of each kind through per interval and counts all: a flood of bad input must not become a flood of lines.
 * The count of what was held back goes with the next line.
 */
export class RateLimitedLog {
  readonly #logger: Logger;
  readonly #interval: number;
  readonly #kinds = new Map<string, { last: number; held: number; total: number }>();

  constructor(logger: Logger, intervalMillis = 60_000) {
    this.#logger = logger;
    this.#interval = intervalMillis;
  }

  /** `kind` must come from a fixed set; `now` is monotonic, ms. */
  warn(kind: string, now: number, fields: object, message: string): void {
    this.#tell('warn', kind, now, fields, message);
  }

  /** As {@link warn}, at level error. */
  error(kind: string, now: number, fields: object, message: string): void {
    this.#tell('error', kind, now, fields, message);
  }

  count(kind: string): number {
    return this.#kinds.get(kind)?.total ?? 0;
  }

  counts(): Record<string, number> {
    return Object.fromEntries([...this.#kinds].map(([kind, entry]) => [kind, entry.total]));
  }

  #tell(level: 'warn' | 'error', kind: string, now: number, fields: object, message: string): void {
    let entry = this.#kinds.get(kind);
    if (entry === undefined) {
      entry = { last: Number.NEGATIVE_INFINITY, held: 0, total: 0 };
      this.#kinds.set(kind, entry);
    }
    entry.total++;
    if (now - entry.last < this.#interval) {
      entry.held++;
      return;
    }
    this.#logger[level]({ kind, ...fields, heldBack: entry.held }, message);
    entry.last = now;
    entry.held = 0;
  }
}
