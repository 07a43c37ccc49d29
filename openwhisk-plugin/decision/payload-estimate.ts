import { Doubles } from '../../config/index.js';
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

const Place = {
  weight: 0,
  sum: 1,
  logSum: 2,
  tried: 3,
  triedWeight: 4,
  fitError: 5,
  meanError: 6,
  medianError: 7,
  /** Sum of value / prediction: a power fitted to logarithms is a median, and a mean is wanted. */
  excess: 8,
  smallest: 9,
  largest: 10,
} as const;
const PLACES = 11;

/**
 * What the size of a call's body says about how much it needs: a power of the size, fitted to the
 * calls as they end. Each call is predicted before it is learned from, so the error is one on calls
 * not seen before; it is an absolute difference of logarithms (0.7: within a factor of two), as
 * weights follow ratios. The estimate is given only where that error is below those of the
 * function's own mean and median; else NaN. Nothing is allocated per call.
 */
export class PayloadEstimate {
  static readonly SIZE = PLACES + PowerFit.SIZE;
  readonly #numbers: number[];
  readonly #from: number;
  readonly #fit: PowerFit;
  #used = false;

  constructor(doubles = new Doubles(PayloadEstimate.SIZE)) {
    this.#numbers = doubles.values;
    this.#from = doubles.take(PLACES);
    this.#numbers[this.#from + Place.smallest] = Number.POSITIVE_INFINITY;
    this.#fit = new PowerFit(doubles);
  }

  /** `size` in bytes and `value` in any unit; what is not positive is unknown. */
  learn(size: number, value: number): void {
    if (!(size > 0) || !(value > 0) || !Number.isFinite(size) || !Number.isFinite(value)) return;
    const numbers = this.#numbers;
    const from = this.#from;
    const log = Math.log(value);
    if (numbers[from + Place.weight]! > 0) {
      const guess = this.#fit.predict(size);
      if (guess > 0) this.#judge(log, Math.log(guess));
    }
    this.#fit.add(size, value);
    this.#forget(Place.weight, 1);
    this.#forget(Place.sum, value);
    this.#forget(Place.logSum, log);
    if (size < numbers[from + Place.smallest]!) numbers[from + Place.smallest] = size;
    if (size > numbers[from + Place.largest]!) numbers[from + Place.largest] = size;
  }

  /**
   * The mean to be expected of a call of this size; NaN: the size says nothing, or not enough is
   * known. Sizes never seen count as the nearest.
   */
  predict(size: number): number {
    if (!this.#used || !(size > 0)) return Number.NaN;
    const known = Math.min(this.#at(Place.largest), Math.max(this.#at(Place.smallest), size));
    return (this.#fit.predict(known) * this.#at(Place.excess)) / this.#at(Place.triedWeight);
  }

  /** The estimate is in use. */
  get used(): boolean {
    return this.#used;
  }

  /** Recent mean absolute error, in logarithms; NaN before the first. */
  get error(): number {
    const weight = this.#at(Place.triedWeight);
    return weight > 0 ? this.#at(Place.fitError) / weight : Number.NaN;
  }

  /** The same of the better of the function's own mean and median. */
  get ownError(): number {
    const weight = this.#at(Place.triedWeight);
    return weight > 0 ? this.#leastOwnError() / weight : Number.NaN;
  }

  #judge(log: number, guess: number): void {
    const numbers = this.#numbers;
    const tried = this.#at(Place.tried) + 1;
    numbers[this.#from + Place.tried] = tried;
    const weight = this.#at(Place.weight);
    this.#forget(Place.triedWeight, 1);
    this.#forget(Place.fitError, Math.abs(log - guess));
    this.#forget(Place.meanError, Math.abs(log - Math.log(this.#at(Place.sum) / weight)));
    this.#forget(Place.medianError, Math.abs(log - this.#at(Place.logSum) / weight));
    this.#forget(Place.excess, Math.exp(Math.min(log - guess, MOST_EXCESS)));
    const bound = (this.#used ? LEFT_ABOVE : USED_BELOW) * this.#leastOwnError();
    this.#used = tried >= MIN_TRIED && this.#at(Place.fitError) < bound;
  }

  #leastOwnError(): number {
    return Math.min(this.#at(Place.meanError), this.#at(Place.medianError));
  }

  #at(place: number): number {
    return this.#numbers[this.#from + place]!;
  }

  #forget(place: number, sample: number): void {
    this.#numbers[this.#from + place] = this.#at(place) * FORGET + sample;
  }
}
