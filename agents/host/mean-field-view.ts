import { Inbox } from '../../broker/index.js';
import { type Contribution, LeaveOneOut } from '../../broker/mean-field/index.js';
import { decodeMeanField, type MeanField, type Sums } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import type { MeanFieldContext } from './agent.js';

/** Without a mean field for so many intervals, agents go on without one (simppo-aware.md §1.4). */
const MISSING_INTERVALS = 3;

export interface MeanFieldViewOptions {
  readonly host: string;
  readonly boot: string;
  readonly interval: Millis;
  readonly refused: (kind: string, detail: string) => void;
}

/**
 * An agent host's side of the mean field: what it sent, what it heard, and each function's others.
 */
export class MeanFieldView {
  readonly #leaveOneOut: LeaveOneOut;
  readonly #inbox: Inbox<MeanField>;
  readonly #keep: number;
  #field: MeanField | null = null;
  #at = Number.NEGATIVE_INFINITY;
  obsolete = 0;

  constructor(options: MeanFieldViewOptions) {
    this.#leaveOneOut = new LeaveOneOut(options.host, options.boot);
    this.#keep = MISSING_INTERVALS * options.interval;
    this.#inbox = new Inbox({
      decode: decodeMeanField,
      stamp: ({ host, boot, sequence }) => ({ sender: host, boot, sequence }),
      refused: options.refused,
    });
  }

  record(sequence: number, contributions: ReadonlyMap<string, Contribution>): Sums {
    return this.#leaveOneOut.record(sequence, contributions);
  }

  /**
   * Null where it was refused. A lower epoch is obsolete while the higher one is still heard of.
   */
  take(data: Uint8Array, now: Millis): MeanField | null {
    const field = this.#inbox.take(data, now);
    if (!field) return null;
    const current = this.current(now);
    if (current && field.epoch < current.epoch) {
      this.obsolete++;
      return null;
    }
    this.#field = field;
    this.#at = now;
    return field;
  }

  current(now: Millis): MeanField | null {
    return now - this.#at <= this.#keep ? this.#field : null;
  }

  /** Since the mean field in use came, ms; NaN where there is none. */
  age(now: Millis): number {
    return this.current(now) ? now - this.#at : Number.NaN;
  }

  contextOf(fn: string, now: Millis): MeanFieldContext {
    const field = this.current(now);
    return { field, others: field ? this.#leaveOneOut.others(field, fn) : null };
  }

  get counts(): object {
    return { ...this.#inbox.counts, obsolete: this.obsolete };
  }
}
