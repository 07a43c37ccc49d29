/**
 * Buckets an octave (two to the four): a bucket is 4.4 % to 6.25 % wide, and quantiles are
 * interpolated inside it.
 */
const FRACTION_BITS = 4;
const PER_OCTAVE = 1 << FRACTION_BITS;
const FRACTION_MASK = PER_OCTAVE - 1;
const SHIFT = 20 - FRACTION_BITS;
const ONE = 0x3ff00000 >>> SHIFT;

const scratch = new Float64Array(1);
/**
 * The high word of a double: sign, exponent and the first bits of the fraction. Every platform of
 * Node is little-endian.
 */
const words = new Uint32Array(scratch.buffer);

/**
 * Many histograms of values from 1 to 2^octaves, a row each; below counts as 1, above as the last
 * bucket. The bucket is read off the bits of the double: no logarithm. A row has counts, one cache
 * line, only for the octaves that it has seen: a function's values rarely span more than five.
 */
export class Histograms {
  declare private readonly octaves: number;
  declare private readonly width: number;
  /** By row and octave: where its counts are, in units of an octave; 0 = no value yet. */
  declare private readonly places: Uint32Array;
  #counts = new Uint32Array(64 * PER_OCTAVE);
  #used = 1;

  constructor(rows: number, octaves: number) {
    this.octaves = octaves;
    this.width = octaves * PER_OCTAVE;
    this.places = new Uint32Array(rows * octaves);
  }

  add(row: number, value: number): void {
    const bucket = this.#bucketOf(value);
    const octave = row * this.octaves + (bucket >> FRACTION_BITS);
    let place = this.places[octave]!;
    if (place === 0) place = this.#addOctave(octave);
    const at = (place << FRACTION_BITS) + (bucket & FRACTION_MASK);
    this.#counts[at] = this.#counts[at]! + 1;
  }

  /** As `add` of each of the first `count` values to its row, in a loop that stays in the cache. */
  addAll(rows: Int32Array, values: Float64Array, count: number): void {
    for (let i = 0; i < count; i++) this.add(rows[i]!, values[i]!);
  }

  count(row: number): number {
    let count = 0;
    for (let octave = 0; octave < this.octaves; octave++) {
      const place = this.places[row * this.octaves + octave]!;
      if (place === 0) continue;
      for (let i = 0; i < PER_OCTAVE; i++) count += this.#counts[(place << FRACTION_BITS) + i]!;
    }
    return count;
  }

  /**
   * The value below which a share of the samples lies, interpolated inside its bucket; NaN without
   * samples.
   */
  quantile(row: number, share: number): number {
    const wanted = share * this.count(row);
    if (wanted === 0) return Number.NaN;
    let below = 0;
    for (let octave = 0; octave < this.octaves; octave++) {
      const place = this.places[row * this.octaves + octave]!;
      if (place === 0) continue;
      for (let i = 0; i < PER_OCTAVE; i++) {
        const here = this.#counts[(place << FRACTION_BITS) + i]!;
        if (here > 0 && below + here >= wanted) {
          const bucket = (octave << FRACTION_BITS) + i;
          const low = edge(bucket);
          return low + ((edge(bucket + 1) - low) * (wanted - below)) / here;
        }
        below += here;
      }
    }
    return 2 ** this.octaves;
  }

  /** Samples above a value, interpolated inside its bucket. */
  above(row: number, value: number): number {
    const bucket = this.#bucketOf(value);
    let above = 0;
    for (let i = bucket + 1; i < this.width; i++) above += this.#countOf(row, i);
    const [low, high] = [edge(bucket), edge(bucket + 1)];
    const inside = Math.min(1, Math.max(0, (high - value) / (high - low)));
    return above + inside * this.#countOf(row, bucket);
  }

  #countOf(row: number, bucket: number): number {
    const place = this.places[row * this.octaves + (bucket >> FRACTION_BITS)]!;
    return place === 0 ? 0 : this.#counts[(place << FRACTION_BITS) + (bucket & FRACTION_MASK)]!;
  }

  #addOctave(octave: number): number {
    const place = this.#used++;
    if (this.#used << FRACTION_BITS > this.#counts.length) {
      const grown = new Uint32Array(2 * this.#counts.length);
      grown.set(this.#counts);
      this.#counts = grown;
    }
    this.places[octave] = place;
    return place;
  }

  #bucketOf(value: number): number {
    if (!(value > 1)) return 0;
    scratch[0] = value;
    const bucket = (words[1]! >>> SHIFT) - ONE;
    return bucket < this.width ? bucket : this.width - 1;
  }
}

/** Lower edge of a bucket. */
function edge(bucket: number): number {
  return 2 ** (bucket >> FRACTION_BITS) * (1 + (bucket & FRACTION_MASK) / PER_OCTAVE);
}
