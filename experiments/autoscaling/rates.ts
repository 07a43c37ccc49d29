import type { Random } from '../../config/index.js';

/** When activations come. */
export interface ArrivalRates {
  /** The next arrival after `now`, ms; Infinity if none comes any more. */
  next(now: number, random: Random): number;
}

/** Arrivals of one function: Poisson by a rate that changes from minute to minute. */
export class RateSource implements ArrivalRates {
  /** Activations a ms, minute by minute; the last one goes on. */
  readonly #perMs: Float64Array;

  /** @param perSecond activations a second in each minute */
  constructor(perSecond: readonly number[]) {
    this.#perMs = Float64Array.from(perSecond, (rate) => rate / 1000);
  }

  /** Activations a ms in a minute. */
  at(minute: number): number {
    return this.#perMs[Math.min(minute, this.#perMs.length - 1)]!;
  }

  next(now: number, random: Random): number {
    // A unit exponential draw is used up by rate x time.
    let left = -Math.log(1 - random.next());
    let at = now;
    const last = this.#perMs.length - 1;
    for (;;) {
      const minute = Math.min(last, Math.floor(at / MINUTE));
      const rate = this.#perMs[minute]!;
      const end = minute === last ? Number.POSITIVE_INFINITY : (minute + 1) * MINUTE;
      const capacityLeft = rate * (end - at);
      if (left < capacityLeft) return at + left / rate;
      if (!(end < Number.POSITIVE_INFINITY)) return Number.POSITIVE_INFINITY;
      left -= capacityLeft;
      at = end;
    }
  }
}

export const MINUTE = 60_000;
