import { Doubles } from '../../config/index.js';
import { DecayingHistogram, decay } from './statistics.js';

const Place = { sum: 0, logSum: 1, squareSum: 2, at: 3, weight: 4, count: 5 } as const;

/** Means of durations, ms: geometric for tests of skewed durations, arithmetic for costs. */
export class DurationStatistics {
  static readonly SIZE = 6;
  readonly #numbers: number[];
  readonly #from: number;

  constructor(doubles = new Doubles(DurationStatistics.SIZE)) {
    this.#numbers = doubles.values;
    this.#from = doubles.take(DurationStatistics.SIZE);
  }

  /** Samples that still count: the sum of their weights at the last one. */
  get weight(): number {
    return this.#numbers[this.#from + Place.weight]!;
  }

  /** Samples since the last `forget`. */
  get count(): number {
    return this.#numbers[this.#from + Place.count]!;
  }

  add(duration: number, now: number, halfLife: number): void {
    if (!(duration > 0) || !Number.isFinite(duration)) return;
    const numbers = this.#numbers;
    const from = this.#from;
    const log = Math.log(duration);
    const keep = decay(now - numbers[from + Place.at]!, halfLife);
    numbers[from + Place.sum] = numbers[from + Place.sum]! * keep + duration;
    numbers[from + Place.logSum] = numbers[from + Place.logSum]! * keep + log;
    numbers[from + Place.squareSum] = numbers[from + Place.squareSum]! * keep + log * log;
    numbers[from + Place.weight] = numbers[from + Place.weight]! * keep + 1;
    numbers[from + Place.at] = now;
    numbers[from + Place.count] = numbers[from + Place.count]! + 1;
  }

  /** NaN without samples, as the other two. */
  get mean(): number {
    return this.#numbers[this.#from + Place.sum]! / this.weight;
  }

  get logMean(): number {
    return this.#numbers[this.#from + Place.logSum]! / this.weight;
  }

  /** Variance of the logarithms. */
  get logVariance(): number {
    const mean = this.logMean;
    const square = this.#numbers[this.#from + Place.squareSum]! / this.weight;
    return Math.max(0, square - mean * mean);
  }

  /** This mean over the other's; NaN while either has no samples. */
  ratioTo(other: Pick<DurationStatistics, 'mean'>): number {
    return this.mean / other.mean;
  }

  forget(): void {
    const at = this.#numbers[this.#from + Place.at]!;
    this.#numbers.fill(0, this.#from, this.#from + DurationStatistics.SIZE);
    this.#numbers[this.#from + Place.at] = at;
  }
}

/** Samples of objectives count a day: an objective must not move with each hour's load. */
const BASELINE_HALF_LIVES = 24;

/** Durations of the control arm. */
export class ControlStatistics extends DurationStatistics {
  /** Durations of warm activations; objectives are derived from it. */
  readonly warm = new DecayingHistogram();

  override add(duration: number, now: number, halfLife: number, cold = false): void {
    super.add(duration, now, halfLife);
    if (duration > 0 && !cold) this.warm.add(duration, now, halfLife * BASELINE_HALF_LIVES);
  }
}

/** A control arm to read: functions that have none share one. */
export type ControlArm = Omit<ControlStatistics, 'add' | 'forget' | 'warm'> & {
  readonly warm: Pick<DecayingHistogram, 'count' | 'percentile'>;
};
