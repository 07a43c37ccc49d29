import { BucketRow } from '../../config/index.js';

/**
 * Running statistics that forget by half-life. Times are monotonic ms. Histograms grow with the
 * span of their samples; nothing else allocates.
 */

const RECENT = 8;
/** Places of a peak's numbers; the newest runs follow. */
const Place = { value: 0, at: 1, recentPeak: 2, recent: 3 } as const;
/** Doubles that start at zero: a typed array of this size takes three times the memory. */
const NO_RUNS: readonly number[] = new Array<number>(Place.recent + RECENT).fill(0.5).fill(0);

/** A maximum that decays, but not below the newest runs, or rare functions would lose theirs. */
export class DecayingPeak {
  /** In one place, since a host with thousands of functions reads them from main memory. */
  readonly #numbers = NO_RUNS.slice();
  #next = 0;
  count = 0;

  add(sample: number, now: number, halfLife: number): void {
    if (!(sample >= 0) || !Number.isFinite(sample)) return;
    const numbers = this.#numbers;
    const place = Place.recent + this.#next;
    const oldest = numbers[place]!;
    const highest = numbers[Place.recentPeak]!;
    numbers[place] = sample;
    this.#next = (this.#next + 1) % RECENT;
    if (sample >= highest) numbers[Place.recentPeak] = sample;
    else if (oldest === highest) numbers[Place.recentPeak] = this.#highestRecent();
    this.count++;
    this.#lift(sample, now, halfLife);
  }

  /** For a lower bound of the demand: a failed run, another host's peak. */
  raise(sample: number, now: number, halfLife: number): void {
    if (!(sample >= 0) || !Number.isFinite(sample)) return;
    this.#lift(sample, now, halfLife);
  }

  /** Clears it (calibration of the `freyr` presets). */
  forget(): void {
    const at = this.#numbers[Place.at]!;
    this.#numbers.fill(0);
    this.#numbers[Place.at] = at;
    this.#next = 0;
    this.count = 0;
  }

  read(now: number, halfLife: number): number {
    const numbers = this.#numbers;
    const kept = numbers[Place.value]! * decay(now - numbers[Place.at]!, halfLife);
    return Math.max(numbers[Place.recentPeak]!, kept);
  }

  #highestRecent(): number {
    let highest = 0;
    for (let i = Place.recent; i < Place.recent + RECENT; i++)
      highest = Math.max(highest, this.#numbers[i]!);
    return highest;
  }

  #lift(sample: number, now: number, halfLife: number): void {
    const numbers = this.#numbers;
    const old = numbers[Place.value]! * decay(now - numbers[Place.at]!, halfLife);
    numbers[Place.value] = Math.max(sample, old);
    numbers[Place.at] = now;
  }
}

/** Mean whose samples lose half their weight per half-life. */
export class DecayingMean {
  #sum = 0;
  #at = 0;
  /** Sum of the samples' weights at the last sample: at most the number of samples. */
  weight = 0;

  add(sample: number, now: number, halfLife: number): void {
    if (!Number.isFinite(sample)) return;
    const keep = decay(now - this.#at, halfLife);
    this.#sum = this.#sum * keep + sample;
    this.weight = this.weight * keep + 1;
    this.#at = now;
  }

  forget(): void {
    this.#sum = 0;
    this.weight = 0;
  }

  /** NaN without samples. */
  get mean(): number {
    return this.weight > 0 ? this.#sum / this.weight : Number.NaN;
  }
}

const BUCKETS = 384;
const SMALLEST = 0.1;
const GROWTH = 1.05;
const LOG_GROWTH = Math.log(GROWTH);
/** Past this exponent the reference time moves, so that weights stay finite. */
const MAX_EXPONENT = 100;
/** Middle of each bucket on the logarithmic scale: a table, as every index reads tens of them. */
const MIDDLES = Float64Array.from(
  { length: BUCKETS },
  (_, bucket) => SMALLEST * GROWTH ** (bucket - 0.5),
);

/**
 * Histogram with buckets that grow by 5 % from 0.1 ms (to 0.1 x 1.05^383 = 1.3e7 ms, 3.6 h) and
 * weights that double per half-life, so that older samples count less [VPA]. A percentile is the
 * upper edge of its bucket: at most 5 % too high.
 */
export class DecayingHistogram {
  readonly #buckets = new BucketRow();
  #reference = 0;
  #total = 0;
  /** Samples ever. */
  count = 0;
  /** The last answer since the last sample: objectives ask for one share again and again. */
  #share = Number.NaN;
  #known = Number.NaN;

  add(sample: number, now: number, halfLife: number): void {
    if (!(sample >= 0) || !Number.isFinite(sample)) return;
    let exponent = (now - this.#reference) / halfLife;
    if (this.count === 0) {
      this.#reference = now;
      exponent = 0;
    } else if (exponent > MAX_EXPONENT) {
      const scale = 2 ** -exponent;
      this.#buckets.scale(scale);
      this.#total *= scale;
      this.#reference = now;
      exponent = 0;
    }
    const weight = 2 ** exponent;
    const index =
      sample <= SMALLEST
        ? 0
        : Math.min(BUCKETS - 1, Math.ceil(Math.log(sample / SMALLEST) / LOG_GROWTH - 1e-9));
    this.#buckets.add(index, weight);
    this.#total += weight;
    this.count++;
    this.#share = Number.NaN;
  }

  /**
   * Gittins index of a job that has had `attained` ms, 1/ms: the best ratio, over all slices, of
   * the chance to end within the slice to the expected time spent in it. Buckets count as their
   * middle. NaN without samples; past all of them a job is expected to need as much again.
   */
  gittinsIndex(attained: number): number {
    const buckets = this.#buckets;
    const known = attained > SMALLEST ? Math.floor(Math.log(attained / SMALLEST) / LOG_GROWTH) : 0;
    let first = Math.max(known, buckets.low);
    while (first <= buckets.high && MIDDLES[first]! <= attained) first++;
    const left = buckets.sumFrom(first);
    if (!(left > 0)) return this.count === 0 ? Number.NaN : 1 / attained;
    let ended = 0;
    let spent = 0;
    let best = 0;
    for (let i = first; i <= buckets.high; i++) {
      const weight = buckets.at(i);
      if (!(weight > 0)) continue;
      const length = MIDDLES[i]! - attained;
      ended += weight;
      spent += weight * length;
      best = Math.max(best, ended / (spent + (left - ended) * length));
    }
    return best;
  }

  /** NaN without samples. `share` in (0, 1]. */
  percentile(share: number): number {
    if (this.count === 0 || !(this.#total > 0)) return Number.NaN;
    if (share !== this.#share) {
      const bucket = this.#buckets.findBucketAtSum(share * this.#total * (1 - 1e-12));
      this.#known = SMALLEST * GROWTH ** (bucket < 0 ? BUCKETS - 1 : bucket);
      this.#share = share;
    }
    return this.#known;
  }
}

let decayedSpan = 0;
let decayedHalfLife = 1;
let decayed = 1;

/** Share of a weight that is left. The last answer is kept: one function's samples have one age. */
export function decay(span: number, halfLife: number): number {
  if (!(span > 0)) return 1;
  if (span !== decayedSpan || halfLife !== decayedHalfLife) {
    decayed = 2 ** (-span / halfLife);
    decayedSpan = span;
    decayedHalfLife = halfLife;
  }
  return decayed;
}
