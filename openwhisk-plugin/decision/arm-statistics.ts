import { DecayingHistogram, DecayingMean } from './statistics.js';

/** Means of durations, ms. The geometric one for tests (durations are skewed), the arithmetic one for what users pay. */
export class DurationStatistics {
  readonly #mean = new DecayingMean();
  readonly #log = new DecayingMean();
  readonly #square = new DecayingMean();
  /** Samples ever. */
  count = 0;

  add(duration: number, now: number, halfLife: number): void {
    if (!(duration > 0) || !Number.isFinite(duration)) return;
    const log = Math.log(duration);
    this.#mean.add(duration, now, halfLife);
    this.#log.add(log, now, halfLife);
    this.#square.add(log * log, now, halfLife);
    this.count++;
  }

  /** Samples that still count. */
  get weight(): number {
    return this.#log.weight;
  }

  get mean(): number {
    return this.#mean.mean;
  }

  get logMean(): number {
    return this.#log.mean;
  }

  /** Variance of the logarithms. */
  get logVariance(): number {
    const mean = this.#log.mean;
    return Math.max(0, this.#square.mean - mean * mean);
  }

  /** This mean over the other's; NaN while either has no samples. */
  ratioTo(other: DurationStatistics): number {
    return this.#mean.mean / other.mean;
  }

  forget(): void {
    this.#mean.forget();
    this.#log.forget();
    this.#square.forget();
    this.count = 0;
  }
}

/** Durations of one arm (control or treated) with their distribution. */
export class ArmStatistics extends DurationStatistics {
  readonly histogram = new DecayingHistogram();

  override add(duration: number, now: number, halfLife: number): void {
    super.add(duration, now, halfLife);
    if (duration > 0) this.histogram.add(duration, now, halfLife);
  }
}
