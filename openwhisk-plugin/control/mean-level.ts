import { Doubles } from '../../config/index.js';

const Place = { level: 0, sum: 1, at: 2, since: 3 } as const;

/** The time-weighted mean of a level that changes in steps, from one reading to the next. */
export class MeanLevel {
  static readonly SIZE = 4;
  readonly #numbers: number[];
  readonly #from: number;

  /** `doubles`: the block that it shares with others. */
  constructor(doubles = new Doubles(MeanLevel.SIZE)) {
    this.#numbers = doubles.values;
    this.#from = doubles.take(MeanLevel.SIZE);
    this.#numbers[this.#from + Place.at] = Number.NaN;
    this.#numbers[this.#from + Place.since] = Number.NaN;
  }

  get level(): number {
    return this.#numbers[this.#from + Place.level]!;
  }

  /** The first call begins the first interval. `now`: monotonic ms, here and in `take`. */
  set(level: number, now: number): void {
    this.#advance(now);
    this.#numbers[this.#from + Place.level] = level;
  }

  /** The mean since the last call; within the same instant the level. */
  take(now: number): number {
    this.#advance(now);
    const numbers = this.#numbers;
    const from = this.#from;
    const span = now - numbers[from + Place.since]!;
    const mean = span > 0 ? numbers[from + Place.sum]! / span : this.level;
    numbers[from + Place.sum] = 0;
    numbers[from + Place.since] = now;
    return mean;
  }

  #advance(now: number): void {
    const numbers = this.#numbers;
    const from = this.#from;
    const at = numbers[from + Place.at]!;
    if (Number.isNaN(at)) numbers[from + Place.since] = now;
    else {
      const sum = numbers[from + Place.sum]! + this.level * Math.max(0, now - at);
      numbers[from + Place.sum] = sum;
    }
    numbers[from + Place.at] = now;
  }
}
