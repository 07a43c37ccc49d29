import { zeros } from './doubles.js';

/** Places of the smallest piece of memory. */
const SMALLEST = 8;
const NOTHING: readonly number[] = [];

/** Amounts in numbered buckets: memory and time grow with the span of those in use. */
export class BucketRow {
  /**
   * Bucket `#origin + i` is `#amounts[i]`. An array of doubles: a typed array beyond 8 places is a
   * buffer outside of V8's heap, whose bookkeeping is larger than most rows.
   */
  #amounts = NOTHING as number[];
  #origin = 0;
  /** Lowest and highest bucket in use; `low > high` where there is none. */
  low = 0;
  high = -1;

  add(bucket: number, amount: number): void {
    let place = bucket - this.#origin;
    if (!(place >= 0 && place < this.#amounts.length)) place = this.#growFor(bucket);
    this.#amounts[place] = this.#amounts[place]! + amount;
    if (this.high < this.low) {
      this.low = bucket;
      this.high = bucket;
    } else if (bucket < this.low) this.low = bucket;
    else if (bucket > this.high) this.high = bucket;
  }

  at(bucket: number): number {
    const place = bucket - this.#origin;
    return place >= 0 && place < this.#amounts.length ? this.#amounts[place]! : 0;
  }

  /** The lowest bucket up to which the amounts add up to `minSum` (> 0); -1 if all are less. */
  findBucketAtSum(minSum: number): number {
    const amounts = this.#amounts;
    const last = this.high - this.#origin;
    let sum = 0;
    for (let i = this.low - this.#origin; i <= last; i++) {
      sum += amounts[i]!;
      if (sum >= minSum) return i + this.#origin;
    }
    return -1;
  }

  /** Of this bucket and all above, the lowest first. */
  sumFrom(bucket: number): number {
    const amounts = this.#amounts;
    const last = this.high - this.#origin;
    let sum = 0;
    for (let i = Math.max(bucket, this.low) - this.#origin; i <= last; i++) sum += amounts[i]!;
    return sum;
  }

  scale(factor: number): void {
    const last = this.high - this.#origin;
    for (let i = this.low - this.#origin; i <= last; i++)
      this.#amounts[i] = this.#amounts[i]! * factor;
  }

  /** Its memory stays. */
  clear(): void {
    const last = this.high - this.#origin;
    for (let i = this.low - this.#origin; i <= last; i++) this.#amounts[i] = 0;
    this.low = 0;
    this.high = -1;
  }

  toArray(): number[] {
    return this.#amounts.slice(this.low - this.#origin, this.high + 1 - this.#origin);
  }

  /** Moves the memory to where the bucket is in it; returns its place. */
  #growFor(bucket: number): number {
    const empty = this.high < this.low;
    const low = empty ? bucket : Math.min(bucket, this.low);
    const span = (empty ? bucket : Math.max(bucket, this.high)) - low + 1;
    const before = this.#amounts;
    let length = Math.max(SMALLEST, before.length);
    while (length < span) length *= 2;
    const origin = Math.max(0, low - ((length - span) >> 1));
    if (!empty || length !== before.length) this.#amounts = zeros(length);
    for (let used = this.low; used <= this.high; used++)
      this.#amounts[used - origin] = before[used - this.#origin]!;
    this.#origin = origin;
    return bucket - origin;
  }
}
