import { zeros } from './doubles.js';

/** Buckets that the smallest piece of memory holds. */
const SMALLEST = 4;
/** Growth of a row's memory; small, because most rows never grow again. */
const GROWTH = 1.5;
const NOTHING: readonly number[] = [];

/**
 * Amounts in numbered buckets. Memory and time grow with the buckets in use: most functions on a
 * host have a few samples, and those of the others lie in some tens of the hundreds of buckets.
 * Histograms extend it: a row of their own would be one more object in main memory to wait for.
 */
export class BucketRow {
  /** Bucket and amount in turn, the lowest bucket first; memory beyond `size` pairs is unused. */
  #pairs = NOTHING as number[];
  /** Buckets in use. Their places, 0 to `size` - 1, change with the next `addTo`. */
  size = 0;

  /** Lowest and highest bucket in use; `low > high` if there is none. */
  get low(): number {
    return this.size === 0 ? 0 : this.#pairs[0]!;
  }

  get high(): number {
    return this.size === 0 ? -1 : this.#pairs[2 * this.size - 2]!;
  }

  bucketAt(place: number): number {
    return this.#pairs[2 * place]!;
  }

  amountAt(place: number): number {
    return this.#pairs[2 * place + 1]!;
  }

  addTo(bucket: number, amount: number): void {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#pairs[2 * middle]! < bucket) low = middle + 1;
      else high = middle;
    }
    if (low === this.size || this.#pairs[2 * low] !== bucket) this.#insert(low, bucket);
    const pairs = this.#pairs;
    pairs[2 * low + 1] = pairs[2 * low + 1]! + amount;
  }

  /** The lowest bucket up to which the amounts add up to `minSum` (> 0); -1 if all are less. */
  findBucketAtSum(minSum: number): number {
    const pairs = this.#pairs;
    const end = 2 * this.size;
    let sum = 0;
    for (let i = 0; i < end; i += 2) {
      sum += pairs[i + 1]!;
      if (sum >= minSum) return pairs[i]!;
    }
    return -1;
  }

  /** Sum of this place and all above, the lowest first. */
  sumFrom(place: number): number {
    const pairs = this.#pairs;
    const end = 2 * this.size;
    let sum = 0;
    for (let i = 2 * place; i < end; i += 2) sum += pairs[i + 1]!;
    return sum;
  }

  scale(factor: number): void {
    const pairs = this.#pairs;
    for (let i = 1; i < 2 * this.size; i += 2) pairs[i] = pairs[i]! * factor;
  }

  /** Its memory stays. */
  clear(): void {
    this.size = 0;
  }

  /** The amounts of all buckets from `low` to `high`. */
  toArray(): number[] {
    const { low, high, size } = this;
    const amounts = zeros(high - low + 1);
    for (let place = 0; place < size; place++)
      amounts[this.bucketAt(place) - low] = this.amountAt(place);
    return amounts;
  }

  #insert(place: number, bucket: number): void {
    const end = 2 * this.size;
    let pairs = this.#pairs;
    if (end === pairs.length) {
      pairs = zeros(2 * Math.max(SMALLEST, Math.ceil(this.size * GROWTH)));
      for (let i = 0; i < end; i++) pairs[i] = this.#pairs[i]!;
      this.#pairs = pairs;
    }
    for (let i = end - 1; i >= 2 * place; i--) pairs[i + 2] = pairs[i]!;
    pairs[2 * place] = bucket;
    pairs[2 * place + 1] = 0;
    this.size++;
  }
}
