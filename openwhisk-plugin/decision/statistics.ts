import { BucketRow, Doubles } from '../../config/index.js';

/**
 * Running statistics that forget by half-life. Times are monotonic ms. Histograms grow with the
 * span of their samples; nothing else allocates. `doubles`: the block that a statistic shares with
 * others, without one its own.
 */

const RECENT = 8;
const EAGER_SAMPLES = 64;
const LAZY_SAMPLES = 16;
/** Places of a peak's numbers; the newest runs follow. */
const Peak = { value: 0, at: 1, recentPeak: 2, next: 3, count: 4, recent: 5 } as const;

/** A maximum that decays, but not below the newest runs, or rare functions would lose theirs. */
export class DecayingPeak {
  static readonly SIZE = Peak.recent + RECENT;
  readonly #numbers: number[];
  readonly #from: number;

  constructor(doubles = new Doubles(DecayingPeak.SIZE)) {
    this.#numbers = doubles.values;
    this.#from = doubles.take(DecayingPeak.SIZE);
  }

  /** Samples since the last `forget`. */
  get count(): number {
    return this.#numbers[this.#from + Peak.count]!;
  }

  add(sample: number, now: number, halfLife: number): void {
    if (!(sample >= 0) || !Number.isFinite(sample)) return;
    const numbers = this.#numbers;
    const from = this.#from;
    const next = numbers[from + Peak.next]!;
    const place = from + Peak.recent + next;
    const oldest = numbers[place]!;
    const highest = numbers[from + Peak.recentPeak]!;
    numbers[place] = sample;
    numbers[from + Peak.next] = next + 1 === RECENT ? 0 : next + 1;
    if (sample >= highest) numbers[from + Peak.recentPeak] = sample;
    else if (oldest === highest) numbers[from + Peak.recentPeak] = this.#highestRecent();
    numbers[from + Peak.count] = numbers[from + Peak.count]! + 1;
    this.#lift(sample, now, halfLife);
  }

  /** For a lower bound of the demand: a failed run, another host's peak. */
  raise(sample: number, now: number, halfLife: number): void {
    if (!(sample >= 0) || !Number.isFinite(sample)) return;
    this.#lift(sample, now, halfLife);
  }

  /** Clears it (calibration of the `freyr` presets). */
  forget(): void {
    const numbers = this.#numbers;
    const at = numbers[this.#from + Peak.at]!;
    numbers.fill(0, this.#from, this.#from + DecayingPeak.SIZE);
    numbers[this.#from + Peak.at] = at;
  }

  read(now: number, halfLife: number): number {
    const numbers = this.#numbers;
    const from = this.#from;
    const kept = numbers[from + Peak.value]! * decay(now - numbers[from + Peak.at]!, halfLife);
    return Math.max(numbers[from + Peak.recentPeak]!, kept);
  }

  #highestRecent(): number {
    const first = this.#from + Peak.recent;
    let highest = 0;
    for (let i = first; i < first + RECENT; i++) highest = Math.max(highest, this.#numbers[i]!);
    return highest;
  }

  #lift(sample: number, now: number, halfLife: number): void {
    const numbers = this.#numbers;
    const from = this.#from;
    const old = numbers[from + Peak.value]! * decay(now - numbers[from + Peak.at]!, halfLife);
    numbers[from + Peak.value] = Math.max(sample, old);
    numbers[from + Peak.at] = now;
  }
}

const Mean = { sum: 0, at: 1, weight: 2 } as const;

/** Mean whose samples lose half their weight per half-life. */
export class DecayingMean {
  static readonly SIZE = 3;
  readonly #numbers: number[];
  readonly #from: number;

  constructor(doubles = new Doubles(DecayingMean.SIZE)) {
    this.#numbers = doubles.values;
    this.#from = doubles.take(DecayingMean.SIZE);
  }

  /** Sum of the samples' weights at the last sample: at most the number of samples. */
  get weight(): number {
    return this.#numbers[this.#from + Mean.weight]!;
  }

  add(sample: number, now: number, halfLife: number): void {
    if (!Number.isFinite(sample)) return;
    const numbers = this.#numbers;
    const from = this.#from;
    const keep = decay(now - numbers[from + Mean.at]!, halfLife);
    numbers[from + Mean.sum] = numbers[from + Mean.sum]! * keep + sample;
    numbers[from + Mean.weight] = numbers[from + Mean.weight]! * keep + 1;
    numbers[from + Mean.at] = now;
  }

  forget(): void {
    this.#numbers[this.#from + Mean.sum] = 0;
    this.#numbers[this.#from + Mean.weight] = 0;
  }

  /** NaN without samples. */
  get mean(): number {
    const { weight } = this;
    return weight > 0 ? this.#numbers[this.#from + Mean.sum]! / weight : Number.NaN;
  }
}

const BUCKETS = 384;
const SMALLEST = 0.1;
const GROWTH = 1.05;
const LOG_GROWTH = Math.log(GROWTH);
/** More than a product and a quotient of doubles are off. */
const ROUNDING = 1 - 1e-12;
/** Past this exponent the reference time moves, so that weights stay finite. */
const MAX_EXPONENT = 100;
/** Middle of each bucket on the logarithmic scale: a table, as every index reads tens of them. */
const MIDDLES = Float64Array.from(
  { length: BUCKETS },
  (_, bucket) => SMALLEST * GROWTH ** (bucket - 0.5),
);

const Histogram = { reference: 0, total: 1, count: 2, share: 3, known: 4 } as const;

/**
 * Histogram with buckets that grow by 5 % from 0.1 ms (to 0.1 x 1.05^383 = 1.3e7 ms, 3.6 h) and
 * weights that double per half-life, so that older samples count less [VPA]. A percentile is the
 * upper edge of its bucket: at most 5 % too high.
 */
export class DecayingHistogram extends BucketRow {
  static readonly SIZE = 5;
  readonly #numbers: number[];
  readonly #from: number;

  constructor(doubles = new Doubles(DecayingHistogram.SIZE)) {
    super();
    this.#numbers = doubles.values;
    this.#from = doubles.take(DecayingHistogram.SIZE);
  }

  /** Samples ever. */
  get count(): number {
    return this.#numbers[this.#from + Histogram.count]!;
  }

  add(sample: number, now: number, halfLife: number): void {
    if (!(sample >= 0) || !Number.isFinite(sample)) return;
    const numbers = this.#numbers;
    const from = this.#from;
    const count = numbers[from + Histogram.count]!;
    let exponent = (now - numbers[from + Histogram.reference]!) / halfLife;
    if (count === 0) {
      numbers[from + Histogram.reference] = now;
      exponent = 0;
    } else if (exponent > MAX_EXPONENT) {
      const scale = 2 ** -exponent;
      this.scale(scale);
      numbers[from + Histogram.total] = numbers[from + Histogram.total]! * scale;
      numbers[from + Histogram.reference] = now;
      exponent = 0;
    }
    const weight = 2 ** exponent;
    const index =
      sample <= SMALLEST
        ? 0
        : Math.min(BUCKETS - 1, Math.ceil(Math.log(sample / SMALLEST) / LOG_GROWTH - 1e-9));
    this.addTo(index, weight);
    numbers[from + Histogram.total] = numbers[from + Histogram.total]! + weight;
    numbers[from + Histogram.count] = count + 1;
    numbers[from + Histogram.share] = Number.NaN;
  }

  /**
   * Gittins index of a job that has had `attained` ms, 1/ms: the best ratio, over all slices, of
   * the chance to end within the slice to the expected time spent in it. Buckets count as their
   * middle. NaN without samples; past all of them a job is expected to need as much again.
   */
  gittinsIndex(attained: number): number {
    const { size } = this;
    let place = 0;
    for (let end = size; place < end; ) {
      const middle = (place + end) >> 1;
      if (MIDDLES[this.bucketAt(middle)]! <= attained) place = middle + 1;
      else end = middle;
    }
    const left = this.sumFrom(place);
    if (!(left > 0)) return this.count === 0 ? Number.NaN : 1 / attained;
    let ended = 0;
    let spent = 0;
    let best = 0;
    for (; place < size; place++) {
      const weight = this.amountAt(place);
      if (!(weight > 0)) continue;
      const length = MIDDLES[this.bucketAt(place)]! - attained;
      ended += weight;
      spent += weight * length;
      const cost = spent + (left - ended) * length;
      // Most slices are worse: what need not be divided is not.
      if (ended > best * cost * ROUNDING) best = Math.max(best, ended / cost);
      // No longer slice ends with more than all that is left, or costs less.
      else if (best * cost * ROUNDING > left) break;
    }
    return best;
  }

  /** At each of the first samples, then at every 16th: a percentile scans all buckets. */
  get isPercentileDue(): boolean {
    const { count } = this;
    return count <= EAGER_SAMPLES || count % LAZY_SAMPLES === 0;
  }

  /**
   * NaN without samples. `share` in (0, 1]. The last answer since the last sample is kept:
   * objectives ask for one share again and again.
   */
  percentile(share: number): number {
    const numbers = this.#numbers;
    const from = this.#from;
    const total = numbers[from + Histogram.total]!;
    if (this.count === 0 || !(total > 0)) return Number.NaN;
    if (share !== numbers[from + Histogram.share]) {
      const bucket = this.findBucketAtSum(share * total * (1 - 1e-12));
      numbers[from + Histogram.known] = SMALLEST * GROWTH ** (bucket < 0 ? BUCKETS - 1 : bucket);
      numbers[from + Histogram.share] = share;
    }
    return numbers[from + Histogram.known]!;
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
