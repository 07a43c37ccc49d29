import { DecayingHistogram, decay } from './statistics.js';

/** Means of durations, ms: geometric for tests of skewed durations, arithmetic for costs. */
export class DurationStatistics {
  #sum = 0;
  #logSum = 0;
  #squareSum = 0;
  #at = 0;
  /** Samples that still count: the sum of their weights at the last one. */
  weight = 0;
  /** Samples ever. */
  count = 0;

  add(duration: number, now: number, halfLife: number): void {
    if (!(duration > 0) || !Number.isFinite(duration)) return;
    const log = Math.log(duration);
    const keep = decay(now - this.#at, halfLife);
    this.#sum = this.#sum * keep + duration;
    this.#logSum = this.#logSum * keep + log;
    this.#squareSum = this.#squareSum * keep + log * log;
    this.weight = this.weight * keep + 1;
    this.#at = now;
    this.count++;
  }

  /** NaN without samples, as the other two. */
  get mean(): number {
    return this.#sum / this.weight;
  }

  get logMean(): number {
    return this.#logSum / this.weight;
  }

  /** Variance of the logarithms. */
  get logVariance(): number {
    const mean = this.logMean;
    return Math.max(0, this.#squareSum / this.weight - mean * mean);
  }

  /** This mean over the other's; NaN while either has no samples. */
  ratioTo(other: DurationStatistics): number {
    return this.mean / other.mean;
  }

  forget(): void {
    this.#sum = 0;
    this.#logSum = 0;
    this.#squareSum = 0;
    this.weight = 0;
    this.count = 0;
  }
}

/** Samples of objectives count a day: an objective must not move with each hour's load. */
const BASELINE_HALF_LIVES = 24;

/** Durations of the control arm. */
export class ControlStatistics extends DurationStatistics {
  /** Of warm activations; objectives are derived from it. */
  readonly warm = new DecayingHistogram();

  override add(duration: number, now: number, halfLife: number, cold = false): void {
    super.add(duration, now, halfLife);
    if (duration > 0 && !cold) this.warm.add(duration, now, halfLife * BASELINE_HALF_LIVES);
  }
}
