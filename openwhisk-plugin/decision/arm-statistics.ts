import { DecayingHistogram, decay } from './statistics.js';

/**
 * Means of durations, ms. The geometric one for tests (durations are skewed), the arithmetic one
 * for what users pay.
 */
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

/**
 * An objective that moved with each hour's load would call the same p99 kept and missed in turn:
 * its samples count a day, not an hour.
 */
const BASELINE_HALF_LIVES = 24;

/**
 * Durations of the control arm, and the distribution of the warm ones: what objectives are derived
 * from.
 */
export class ControlStatistics extends DurationStatistics {
  /**
   * Of activations in a container that had run before: code that is loaded in the first run is no
   * property of the others.
   */
  readonly warm = new DecayingHistogram();

  override add(duration: number, now: number, halfLife: number, cold = false): void {
    super.add(duration, now, halfLife);
    if (duration > 0 && !cold) this.warm.add(duration, now, halfLife * BASELINE_HALF_LIVES);
  }
}
