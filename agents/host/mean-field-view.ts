import { type Contribution, LeaveOneOut } from '../../broker/mean-field/index.js';
import type { MeanField, MeanFieldHost, Sums } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import type { View } from '../resource-manager.js';

/** A mean field that is older than this many intervals is not used: its totals are outdated. */
const MAX_AGE_INTERVALS = 3;

/** The mean field as one function sees it on one invoker host. */
export interface MeanFieldContext extends Pick<View, 'others' | 'price' | 'invoker'> {
  readonly field: MeanField | null;
}

export interface MeanFieldViewOptions {
  readonly host: string;
  readonly boot: string;
  readonly interval: Millis;
}

/**
 * An agent host's view of the mean field: the batches it sent, the newest totals it received, and
 * for each function the totals without the function itself.
 */
export class MeanFieldView {
  readonly #leaveOneOut: LeaveOneOut;
  readonly #maxAge: number;
  /** The newest mean field, by invoker host. */
  #invokers: ReadonlyMap<string, MeanFieldHost> = new Map();
  #field: MeanField | null = null;
  #at = Number.NEGATIVE_INFINITY;
  obsolete = 0;

  constructor({ host, boot, interval }: MeanFieldViewOptions) {
    this.#leaveOneOut = new LeaveOneOut(host, boot);
    this.#maxAge = MAX_AGE_INTERVALS * interval;
  }

  record(sequence: number, contributions: ReadonlyMap<string, Contribution>): Sums {
    return this.#leaveOneOut.record(sequence, contributions);
  }

  /**
   * Stores a mean field. A lower epoch than the current one's comes from a former aggregator and is
   * only counted.
   */
  take(field: MeanField, now: Millis): void {
    const current = this.current(now);
    if (current && field.epoch < current.epoch) {
      this.obsolete++;
      return;
    }
    this.#invokers = new Map(field.hosts.map((entry) => [entry.host, entry]));
    this.#field = field;
    this.#at = now;
  }

  current(now: Millis): MeanField | null {
    return now - this.#at <= this.#maxAge ? this.#field : null;
  }

  /** Age of the mean field in use, ms; NaN without one. */
  age(now: Millis): number {
    return this.current(now) ? now - this.#at : Number.NaN;
  }

  contextOf(fn: string, host: string, now: Millis): MeanFieldContext {
    const field = this.current(now);
    if (field === null) return NO_MEAN_FIELD;
    const others = this.#leaveOneOut.others(field, fn);
    const invoker = this.#invokers.get(host) ?? null;
    return { field, others, price: invoker?.price ?? null, invoker };
  }
}

const NO_MEAN_FIELD: MeanFieldContext = {
  field: null,
  others: null,
  price: null,
  invoker: null,
};
