/** Samples after which an older one counts half. */
export const FORGET = 0.5 ** (1 / 200);

/**
 * Least squares of ln y on ln x, newer samples heavier. Demand that grows with a power of the size
 * is a line there.
 */
export class PowerFit {
  #n = 0;
  #x = 0;
  #y = 0;
  #xx = 0;
  #xy = 0;
  #yy = 0;

  add(x: number, y: number): void {
    if (!(x > 0) || !(y > 0) || !Number.isFinite(x) || !Number.isFinite(y)) return;
    const lx = Math.log(x);
    const ly = Math.log(y);
    this.#n = this.#n * FORGET + 1;
    this.#x = this.#x * FORGET + lx;
    this.#y = this.#y * FORGET + ly;
    this.#xx = this.#xx * FORGET + lx * lx;
    this.#xy = this.#xy * FORGET + lx * ly;
    this.#yy = this.#yy * FORGET + ly * ly;
  }

  /** NaN without two different sizes. */
  predict(x: number): number {
    const spread = this.#n * this.#xx - this.#x * this.#x;
    if (!(spread > 1e-9 * this.#n * this.#n)) return Number.NaN;
    const slope = (this.#n * this.#xy - this.#x * this.#y) / spread;
    return Math.exp((this.#y + slope * (this.#n * Math.log(x) - this.#x)) / this.#n);
  }

  /** Share of the variance explained; 0 if nothing varies. */
  get r2(): number {
    const sx = this.#n * this.#xx - this.#x * this.#x;
    const sy = this.#n * this.#yy - this.#y * this.#y;
    const sxy = this.#n * this.#xy - this.#x * this.#y;
    const least = 1e-9 * this.#n * this.#n;
    return sx > least && sy > least ? (sxy * sxy) / (sx * sy) : 0;
  }
}
