import { type Clock, messageOf } from '../config/index.js';
import { HandlerError } from './errors.js';
import type { BrokerCounters, BrokerStatus } from './port.js';

/** Between two reports about one subject, ms. */
const REPORT_INTERVAL = 60_000;

/**
 * Exceptions of the handlers of messages, values and states: all are counted, and one per subject
 * and minute is reported. A handler must not end the process, nor affect the others.
 */
export class HandlerErrors {
  readonly #counters: BrokerCounters;
  readonly #clock: Clock;
  readonly #report: (status: BrokerStatus) => void;
  readonly #reportedAt = new Map<string, number>();

  constructor(counters: BrokerCounters, clock: Clock, report: (status: BrokerStatus) => void) {
    this.#counters = counters;
    this.#clock = clock;
    this.#report = report;
  }

  /** `subject`: as subscribed, or the bucket; from a fixed set. */
  failed(subject: string, error: unknown): void {
    this.#counters.handlerErrors++;
    const now = this.#clock.monotonic();
    if (now - (this.#reportedAt.get(subject) ?? Number.NEGATIVE_INFINITY) < REPORT_INTERVAL) return;
    this.#reportedAt.set(subject, now);
    const failure = new HandlerError(subject, messageOf(error), error);
    this.#report({ kind: 'handler_failed', error: failure });
  }
}
