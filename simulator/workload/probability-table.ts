import type { Random } from '../../config/index.js';

/** Words of a stream: sfc32's a, b, c and counter. */
const WORDS = 4;
/** A row: the streams, their keys, the place in the strata; two cache lines at most. */
const STREAMS = 4;
const KEYS = WORDS * STREAMS;
const PLACE = KEYS + STREAMS;
const ROW = 32;

/**
 * Probabilities for the demand of many functions in one typed array: four separate streams a
 * function (CPU, waits, memory, payload), sfc32 as in `SeededRandom` and seeded from it.
 *
 * With strata, each run of activations of a function has exactly one draw in each of as many equal
 * slices, in random order, by a permutation that is computed and not stored: even thirty draws
 * from a heavy tail then add up to what the distribution means.
 */
export class ProbabilityTable {
  declare private readonly state: Int32Array;
  /** Activations in a run; 0 = independent draws. */
  declare private readonly strata: Int32Array;

  constructor(functions: number) {
    this.state = new Int32Array(functions * ROW);
    this.strata = new Int32Array(functions);
  }

  /** @param streams one per purpose, in the order `next` numbers them */
  seed(fn: number, streams: readonly Random[], strata: number): void {
    streams.forEach((random, stream) => {
      const at = fn * ROW + stream * WORDS;
      for (let word = 0; word < 3; word++) this.state[at + word] = random.below(0x100000000);
      this.state[at + 3] = 1;
    });
    this.strata[fn] = strata;
    // The first activation then begins a run.
    this.state[fn * ROW + PLACE] = strata - 1;
  }

  /** Before the draws of each activation. */
  advance(fn: number): void {
    const strata = this.strata[fn]!;
    if (strata === 0) return;
    const row = fn * ROW;
    const place = this.state[row + PLACE]! + 1;
    this.state[row + PLACE] = place === strata ? 0 : place;
    if (place !== strata) return;
    for (let stream = 0; stream < STREAMS; stream++) {
      this.state[row + KEYS + stream] = this.#draw(row + stream * WORDS);
    }
  }

  /** In [0, 1). */
  next(fn: number, stream: number): number {
    const row = fn * ROW;
    const u = (this.#draw(row + stream * WORDS) >>> 0) / 4294967296;
    const strata = this.strata[fn]!;
    if (strata === 0) return u;
    return (
      (permuted(this.state[row + PLACE]!, strata, this.state[row + KEYS + stream]!) + u) / strata
    );
  }

  #draw(at: number): number {
    const state = this.state;
    const b = state[at + 1]!;
    const c = state[at + 2]!;
    const counter = state[at + 3]!;
    const t = (((state[at]! + b) | 0) + counter) | 0;
    state[at + 3] = counter + 1;
    state[at] = b ^ (b >>> 9);
    state[at + 1] = c + (c << 3);
    state[at + 2] = ((c << 21) | (c >>> 11)) + t;
    return t;
  }
}

/**
 * A permutation of 0 to `count` - 1 chosen by the key. Each step (sum, odd factor, shifted
 * exclusive or) can be undone within the next power of two, so the whole is one to one there; what
 * falls beyond `count` is permuted on until it does not.
 */
export function permuted(index: number, count: number, key: number): number {
  if (count === 1) return 0;
  const bits = 32 - Math.clz32(count - 1);
  // Not `2 ** bits`, which is a call of pow; bits are 31 at most.
  const mask = -1 >>> (32 - bits);
  const shift = (bits + 1) >> 1;
  let x = index;
  do {
    x = (x + key) & mask;
    x ^= x >>> shift;
    x = Math.imul(x, 0x2c1b3c6d) & mask;
    x ^= x >>> shift;
    x = (Math.imul(x, 0x297a2d39) + (key >>> 11)) & mask;
    x ^= x >>> shift;
  } while (x >= count);
  return x;
}
