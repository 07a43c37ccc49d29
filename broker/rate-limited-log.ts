import type { Logger } from './logger.js';

const INTERVAL_MILLIS = 60_000;

/** Writes one line of each kind per interval; the next one says how many were suppressed. */
export class RateLimitedLog {
  readonly #logger: Logger;
  readonly #kinds = new Map<string, { last: number; suppressed: number }>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** `kind` must come from a fixed set; `now` is monotonic, ms. */
  warn(kind: string, now: number, fields: object, message: string): void {
    this.#write('warn', kind, now, fields, message);
  }

  error(kind: string, now: number, fields: object, message: string): void {
    this.#write('error', kind, now, fields, message);
  }

  #write(
    level: 'warn' | 'error',
    kind: string,
    now: number,
    fields: object,
    message: string,
  ): void {
    let entry = this.#kinds.get(kind);
    if (entry === undefined) {
      entry = { last: Number.NEGATIVE_INFINITY, suppressed: 0 };
      this.#kinds.set(kind, entry);
    }
    if (now - entry.last < INTERVAL_MILLIS) {
      entry.suppressed++;
      return;
    }
    this.#logger[level]({ kind, ...fields, suppressedLines: entry.suppressed }, message);
    entry.last = now;
    entry.suppressed = 0;
  }
}
