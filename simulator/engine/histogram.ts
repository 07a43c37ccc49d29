/**
 * Buckets an octave (two to the four): a bucket is 4.4 % to 6.25 % wide, and quantiles are
 * interpolated inside it.
 */
const FRACTION_BITS = 4;
const PER_OCTAVE = 1 << FRACTION_BITS;
const SHIFT = 20 - FRACTION_BITS;
const ONE = 0x3ff00000 >>> SHIFT;

const scratch = new Float64Array(1);
/**
 * The high word of a double: sign, exponent and the first bits of the fraction. Every platform of
 * Node is little-endian.
 */
const words = new Uint32Array(scratch.buffer);

/**
 * Many histograms of values from 1 to 2^octaves in one typed array, a row each; below counts as 1,
 * above as the last bucket. The bucket is read off the bits of the double: no logarithm.
 */
export class Histograms {
  readonly #octaves: number;
  readonly #width: number;
  readonly #counts: Uint32Array;

  constructor(rows: number, octaves: number) {
    this.#octaves = octaves;
    this.#width = octaves * PER_OCTAVE;
    this.#counts = new Uint32Array(rows * this.#width);
  }

  add(row: number, value: number): void {
    const bucket = row * this.#width + this.#bucketOf(value);
    this.#counts[bucket] = this.#counts[bucket]! + 1;
  }

  count(row: number): number {
    let count = 0;
    for (let i = row * this.#width; i < (row + 1) * this.#width; i++) count += this.#counts[i]!;
    return count;
  }

  /**
   * The value below which a share of the samples lies, interpolated inside its bucket; NaN without
   * samples.
   */
  quantile(row: number, share: number): number {
    const from = row * this.#width;
    const wanted = share * this.count(row);
    if (wanted === 0) return Number.NaN;
    let below = 0;
    for (let i = 0; i < this.#width; i++) {
      const here = this.#counts[from + i]!;
      if (here > 0 && below + here >= wanted) {
        const low = edge(i);
        return low + ((edge(i + 1) - low) * (wanted - below)) / here;
      }
      below += here;
    }
    return 2 ** this.#octaves;
  }

  /** Samples above a value, interpolated inside its bucket. */
  above(row: number, value: number): number {
    const from = row * this.#width;
    const bucket = this.#bucketOf(value);
    let above = 0;
    for (let i = bucket + 1; i < this.#width; i++) above += this.#counts[from + i]!;
    const [low, high] = [edge(bucket), edge(bucket + 1)];
    const inside = Math.min(1, Math.max(0, (high - value) / (high - low)));
    return above + inside * this.#counts[from + bucket]!;
  }

  #bucketOf(value: number): number {
    if (!(value > 1)) return 0;
    scratch[0] = value;
    const bucket = (words[1]! >>> SHIFT) - ONE;
    return bucket < this.#width ? bucket : this.#width - 1;
  }
}

/** Lower edge of a bucket. */
function edge(bucket: number): number {
  return 2 ** (bucket >> FRACTION_BITS) * (1 + (bucket & (PER_OCTAVE - 1)) / PER_OCTAVE);
}
