import { Doubles } from '../../config/index.js';
/** Samples after which an older one counts half. */
export const FORGET = 0.5 ** (1 / 200);

const Sum = { n: 0, x: 1, y: 2, xx: 3, xy: 4, yy: 5 } as const;

/**
 * Least squares of ln y on ln x, newer samples heavier. Demand that grows with a power of the size
 * is a line there.
 */
export class PowerFit {
  static readonly SIZE = 6;
  readonly #numbers: number[];
  readonly #from: number;

  constructor(doubles = new Doubles(PowerFit.SIZE)) {
    this.#numbers = doubles.values;
    this.#from = doubles.take(PowerFit.SIZE);
  }

  add(x: number, y: number): void {
    if (!(x > 0) || !(y > 0) || !Number.isFinite(x) || !Number.isFinite(y)) return;
    const lx = Math.log(x);
    const ly = Math.log(y);
    this.#forget(Sum.n, 1);
    this.#forget(Sum.x, lx);
    this.#forget(Sum.y, ly);
    this.#forget(Sum.xx, lx * lx);
    this.#forget(Sum.xy, lx * ly);
    this.#forget(Sum.yy, ly * ly);
  }

  /** NaN without two different sizes. */
  predict(x: number): number {
    const n = this.#sum(Sum.n);
    const sumX = this.#sum(Sum.x);
    const sumY = this.#sum(Sum.y);
    const spread = n * this.#sum(Sum.xx) - sumX * sumX;
    if (!(spread > 1e-9 * n * n)) return Number.NaN;
    const slope = (n * this.#sum(Sum.xy) - sumX * sumY) / spread;
    return Math.exp((sumY + slope * (n * Math.log(x) - sumX)) / n);
  }

  /** Share of the variance explained; 0 where nothing varies. */
  get r2(): number {
    const n = this.#sum(Sum.n);
    const sumX = this.#sum(Sum.x);
    const sumY = this.#sum(Sum.y);
    const sx = n * this.#sum(Sum.xx) - sumX * sumX;
    const sy = n * this.#sum(Sum.yy) - sumY * sumY;
    const sxy = n * this.#sum(Sum.xy) - sumX * sumY;
    const least = 1e-9 * n * n;
    return sx > least && sy > least ? (sxy * sxy) / (sx * sy) : 0;
  }

  #sum(place: number): number {
    return this.#numbers[this.#from + place]!;
  }

  #forget(place: number, sample: number): void {
    this.#numbers[this.#from + place] = this.#sum(place) * FORGET + sample;
  }
}
