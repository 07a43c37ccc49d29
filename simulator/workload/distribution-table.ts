import { type Distribution, normalQuantile } from './distribution.js';

const CONSTANT = 0;
const PIECES = 1;
const LOGNORMAL = 2;
const EXPONENTIAL = 3;

const FIRST = 4096;

/**
 * Distributions made ready for many draws: `at(add(distribution), u)` is `quantile(distribution,
 * u)`. All of them lie in one column, because a thousand functions' worth of small objects would
 * miss the caches at every draw: constant and exponential `[kind, value]`, lognormal `[kind,
 * median, sigma]`, quantiles `[kind, n, n upper ends, n pairs (a, b)]` with exp(a + b u) inside a
 * piece, a where b is 0, and b x (u - lower end) where a is -Infinity (a piece that begins at 0 is
 * straight).
 */
export class DistributionTable {
  #column = new Float64Array(FIRST);
  #length = 0;

  /** @returns its handle for `at` */
  add(distribution: Distribution): number {
    const handle = this.#length;
    if (typeof distribution === 'number') this.#push(CONSTANT, distribution);
    else if ('exponential' in distribution) this.#push(EXPONENTIAL, distribution.exponential.mean);
    else if ('lognormal' in distribution) {
      const { median, sigma } = distribution.lognormal;
      if (sigma === 0) this.#push(CONSTANT, median);
      else {
        this.#push(LOGNORMAL, median);
        this.#append(sigma);
      }
    } else this.#addPieces(distribution.quantiles);
    return handle;
  }

  #addPieces(points: readonly (readonly [number, number])[]): void {
    const pieces = points.length - 1;
    this.#push(PIECES, pieces);
    for (let i = 1; i <= pieces; i++) this.#append(points[i]![0]);
    for (let i = 0; i < pieces; i++) {
      const [p0, v0] = points[i]!;
      const [p1, v1] = points[i + 1]!;
      if (v0 === v1) this.#push(v0, 0);
      else if (v0 === 0) this.#push(Number.NEGATIVE_INFINITY, v1 / (p1 - p0));
      else {
        const slope = Math.log(v1 / v0) / (p1 - p0);
        this.#push(Math.log(v0) - slope * p0, slope);
      }
    }
  }

  #push(first: number, second: number): void {
    this.#append(first);
    this.#append(second);
  }

  #append(value: number): void {
    if (this.#length === this.#column.length) {
      const grown = new Float64Array(2 * this.#length);
      grown.set(this.#column);
      this.#column = grown;
    }
    this.#column[this.#length++] = value;
  }

  isConstant(handle: number): boolean {
    return this.#column[handle] === CONSTANT;
  }

  /** Replaces the first `count` probabilities by values, each by its function's distribution. */
  replace(column: Float64Array, handles: Int32Array, fns: Uint32Array, count: number): void {
    for (let i = 0; i < count; i++) column[i] = this.at(handles[fns[i]!]!, column[i]!);
  }

  at(handle: number, u: number): number {
    const column = this.#column;
    const kind = column[handle]!;
    const first = column[handle + 1]!;
    if (kind === PIECES) {
      let i = 0;
      while (column[handle + 2 + i]! <= u) i++;
      const pair = handle + 2 + first + 2 * i;
      const a = column[pair]!;
      const b = column[pair + 1]!;
      if (b === 0) return a;
      if (a === Number.NEGATIVE_INFINITY) return b * (u - (i === 0 ? 0 : column[handle + 1 + i]!));
      return Math.exp(a + b * u);
    }
    if (kind === CONSTANT) return first;
    if (kind === EXPONENTIAL) return -first * Math.log1p(-u);
    return first * Math.exp(column[handle + 2]! * normalQuantile(u));
  }
}
