import { FORGET, PowerFit } from './power-fit.js';

/** Predictions that must have been tried before any is believed. */
const MIN_TRIED = 20;
/** Used from an error below this share of the function's own, and until it is above the second. */
const USED_BELOW = 0.9;
const LEFT_ABOVE = 1;
/**
 * Logarithm of the largest value / prediction that counts. Early fits to nearly equal sizes may
 * predict 1e-40, and one such ratio would outweigh thousands of others.
 */
const MOST_EXCESS = Math.log(16);

/**
 * What the size of a body says about how much its activation needs: a power of the size, fitted to
 * activations as they end. Each is predicted before it is learned from, so the error is one on
 * activations not seen before; it is an absolute difference of logarithms (0.7: within a factor of
 * two), as weights follow ratios. The estimate is given only where that error is below those of the
 * function's own mean and median; else NaN. Nothing is allocated per activation.
 */
export class PayloadEstimate {
  readonly #fit = new PowerFit();
  #weight = 0;
  #sum = 0;
  #logSum = 0;
  #tried = 0;
  #triedWeight = 0;
  #fitError = 0;
  #meanError = 0;
  #medianError = 0;
  /** Sum of value / prediction: a power fitted to logarithms is a median, and a mean is wanted. */
  #excess = 0;
  #smallest = Number.POSITIVE_INFINITY;
  #largest = 0;
  #used = false;

  /** `size` in bytes and `value` in any unit; what is not positive is unknown. */
  learn(size: number, value: number): void {
    if (!(size > 0) || !(value > 0) || !Number.isFinite(size) || !Number.isFinite(value)) return;
    const log = Math.log(value);
    if (this.#weight > 0) {
      const guess = this.#fit.predict(size);
      if (guess > 0) this.#judge(log, Math.log(guess));
    }
    this.#fit.add(size, value);
    this.#weight = this.#weight * FORGET + 1;
    this.#sum = this.#sum * FORGET + value;
    this.#logSum = this.#logSum * FORGET + log;
    if (size < this.#smallest) this.#smallest = size;
    if (size > this.#largest) this.#largest = size;
  }

  /**
   * The mean to be expected with a body of this size; NaN: the size says nothing, or not enough is
   * known. Sizes never seen count as the nearest.
   */
  predict(size: number): number {
    if (!this.#used || !(size > 0)) return Number.NaN;
    const known = Math.min(this.#largest, Math.max(this.#smallest, size));
    return (this.#fit.predict(known) * this.#excess) / this.#triedWeight;
  }

  /** The estimate is in use. */
  get used(): boolean {
    return this.#used;
  }

  /** Recent mean absolute error, in logarithms; NaN before the first. */
  get error(): number {
    return this.#triedWeight > 0 ? this.#fitError / this.#triedWeight : Number.NaN;
  }

  /** The same of the better of the function's own mean and median. */
  get ownError(): number {
    return this.#triedWeight > 0
      ? Math.min(this.#meanError, this.#medianError) / this.#triedWeight
      : Number.NaN;
  }

  #judge(log: number, guess: number): void {
    this.#tried++;
    this.#triedWeight = this.#triedWeight * FORGET + 1;
    this.#fitError = this.#fitError * FORGET + Math.abs(log - guess);
    this.#meanError = this.#meanError * FORGET + Math.abs(log - Math.log(this.#sum / this.#weight));
    this.#medianError = this.#medianError * FORGET + Math.abs(log - this.#logSum / this.#weight);
    this.#excess = this.#excess * FORGET + Math.exp(Math.min(log - guess, MOST_EXCESS));
    const bound =
      (this.#used ? LEFT_ABOVE : USED_BELOW) * Math.min(this.#meanError, this.#medianError);
    this.#used = this.#tried >= MIN_TRIED && this.#fitError < bound;
  }
}
