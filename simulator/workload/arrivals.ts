import type { Random } from '../../config/index.js';
import { type Arrivals, arrivalSpanMs } from './workload.js';

/**
 * Bursts inside a minute: an activation starts a new burst with probability 1 / `activations`, else
 * it follows the one before it after an exponential gap. So burst sizes are geometric with that
 * mean, bursts begin anywhere in the minute, and the minute's count stays what was recorded; an
 * activation beyond the minute's end goes round to its beginning. Over spans longer than a burst
 * the variance of counts is up to 2 x `activations` - 1 times the mean. **Assumption**: no trace
 * shows what happens inside its minutes.
 */
const BURST = { activations: 8, gapMs: 100 } as const;

/** Activations of one function in order, round after round. */
export interface ArrivalSource {
  /**
   * Time of the next activation, ms of recorded time from the start of the first round; Infinity
   * if there is none any more.
   */
  next(): number;
}

/**
 * The arrivals of a function as a source that makes them on request, in order.
 * @param spanMs length of a round, of the whole workload
 */
export function arrivalSource(
  arrivals: Arrivals,
  spanMs: number,
  rounds: number,
  random: Random,
): ArrivalSource {
  if ('atMs' in arrivals) return new ListedArrivals(arrivals.atMs, spanMs, rounds);
  if ('ratePerSecond' in arrivals) return new RateArrivals(arrivals, spanMs, rounds, random);
  return new MinuteArrivals(arrivals, spanMs, rounds, random);
}

type PerMinute = Extract<Arrivals, { perMinute: number[] }>;
type AtRate = Extract<Arrivals, { ratePerSecond: number }>;

class MinuteArrivals implements ArrivalSource {
  declare private readonly counts: readonly number[];
  declare private readonly sliceMs: number;
  declare private readonly within: PerMinute['within'];
  declare private readonly spanMs: number;
  declare private readonly random: Random;
  declare private readonly rounds: number;
  #round = 0;
  #slice = -1;
  /** Activations of the slice still to come; of a Poisson slice 1 while it lasts. */
  #left = 0;
  /** Where in the slice the last activation was, 0 to 1. */
  #at = 0;
  #burst = new Float64Array(0);

  constructor(arrivals: PerMinute, spanMs: number, rounds: number, random: Random) {
    this.counts = arrivals.perMinute;
    this.sliceMs = arrivals.sliceMs;
    this.within = arrivals.within;
    this.spanMs = spanMs;
    this.random = random;
    this.rounds = this.counts.some((count) => count > 0) ? rounds : 0;
  }

  next(): number {
    for (;;) {
      while (this.#left === 0) if (!this.#enterNext()) return Number.POSITIVE_INFINITY;
      const share = this.#share();
      if (share < 1) return this.#round * this.spanMs + (this.#slice + share) * this.sliceMs;
      this.#left = 0;
    }
  }

  #enterNext(): boolean {
    if (this.#round >= this.rounds) return false;
    this.#slice++;
    if (this.#slice === this.counts.length) {
      this.#slice = -1;
      this.#round++;
      return this.#enterNext();
    }
    this.#left = this.counts[this.#slice]!;
    this.#at = 0;
    if (this.within === 'bursty' && this.#left > 0) this.#drawBursts(this.#left);
    return true;
  }

  /** Where in the slice the next activation is; 1 = in none. */
  #share(): number {
    const left = this.#left;
    switch (this.within) {
      case 'poisson':
        this.#at += gap(1 / this.counts[this.#slice]!, this.random);
        return this.#at;
      case 'bursty':
        this.#left = left - 1;
        return this.#burst[this.counts[this.#slice]! - left]!;
      case 'even':
        this.#left = left - 1;
        return (this.counts[this.#slice]! - left + 0.5) / this.counts[this.#slice]!;
      default: {
        // The least of `left` uniform draws above the last one: order statistics one after the
        // other, without a list to sort.
        const u = this.random.next();
        const least = left === 1 ? u : 1 - (1 - u) ** (1 / left);
        this.#at = Math.min(this.#at + (1 - this.#at) * least, ALMOST_ONE);
        this.#left = left - 1;
        return this.#at;
      }
    }
  }

  #drawBursts(count: number): void {
    if (this.#burst.length < count) this.#burst = new Float64Array(count);
    let shift = Number.NaN;
    for (let i = 0; i < count; i++) {
      shift = burstTime(shift, this.sliceMs, this.random);
      this.#burst[i] = shift / this.sliceMs;
    }
    this.#burst.subarray(0, count).sort();
  }
}

/** Rounding must not push an activation out of its slice. */
const ALMOST_ONE = 1 - 2 ** -40;

class RateArrivals implements ArrivalSource {
  declare private readonly gapMs: number;
  declare private readonly even: boolean;
  declare private readonly lengthMs: number;
  declare private readonly spanMs: number;
  declare private readonly random: Random;
  declare private readonly rounds: number;
  #round = 0;
  #at: number;

  constructor(arrivals: AtRate, spanMs: number, rounds: number, random: Random) {
    this.gapMs = 1000 / arrivals.ratePerSecond;
    this.even = arrivals.within === 'even';
    this.lengthMs = arrivals.seconds * 1000;
    this.spanMs = spanMs;
    this.random = random;
    this.#at = this.even ? -this.gapMs / 2 : 0;
    // Equal gaps longer than the recording make no activation at all, however often it is repeated.
    this.rounds = this.even && this.gapMs / 2 >= this.lengthMs ? 0 : rounds;
  }

  next(): number {
    while (this.#round < this.rounds) {
      this.#at += this.even ? this.gapMs : gap(this.gapMs, this.random);
      if (this.#at < this.lengthMs) return this.#round * this.spanMs + this.#at;
      this.#round++;
      this.#at = this.even ? -this.gapMs / 2 : 0;
    }
    return Number.POSITIVE_INFINITY;
  }
}

class ListedArrivals implements ArrivalSource {
  declare private readonly times: Float64Array;
  declare private readonly spanMs: number;
  declare private readonly rounds: number;
  #round = 0;
  #next = 0;

  constructor(atMs: readonly number[], spanMs: number, rounds: number) {
    this.times = Float64Array.from(atMs).sort();
    this.spanMs = spanMs;
    this.rounds = rounds;
  }

  next(): number {
    if (this.#next === this.times.length) {
      this.#next = 0;
      this.#round++;
    }
    if (this.#round >= this.rounds) return Number.POSITIVE_INFINITY;
    return this.#round * this.spanMs + this.times[this.#next++]!;
  }
}

/** Activations of one round that the arrivals make, in the mean. */
export function expectedActivations(arrivals: Arrivals): number {
  if ('perMinute' in arrivals) return arrivals.perMinute.reduce((sum, count) => sum + count, 0);
  if ('ratePerSecond' in arrivals) return arrivals.ratePerSecond * arrivals.seconds;
  return arrivals.atMs.length;
}

/** Length of a round, ms of recorded time. */
export function roundSpanMs(functions: readonly { readonly arrivals: Arrivals }[]): number {
  return functions.reduce((longest, fn) => Math.max(longest, arrivalSpanMs(fn.arrivals)), 0);
}

/**
 * Where in its slice the activation after one at `shift` lies, ms; NaN: there is none before it.
 */
function burstTime(shift: number, sliceMs: number, random: Random): number {
  if (Number.isNaN(shift) || random.next() * BURST.activations < 1) return random.next() * sliceMs;
  return (shift + gap(BURST.gapMs, random)) % sliceMs;
}

/** Exponential with the given mean. */
function gap(mean: number, random: Random): number {
  return -mean * Math.log1p(-random.next());
}
