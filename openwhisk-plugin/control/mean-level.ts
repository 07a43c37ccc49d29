/** The time-weighted mean of a level that changes in steps, from one reading to the next. */
export class MeanLevel {
  #level = 0;
  #sum = 0;
  #at = Number.NaN;
  #since = Number.NaN;

  /** The first call begins the first interval. `now`: monotonic ms, here and in `take`. */
  set(level: number, now: number): void {
    this.#advance(now);
    this.#level = level;
  }

  /** The mean since the last call; within the same instant the level. */
  take(now: number): number {
    this.#advance(now);
    const span = now - this.#since;
    const mean = span > 0 ? this.#sum / span : this.#level;
    this.#sum = 0;
    this.#since = now;
    return mean;
  }

  #advance(now: number): void {
    if (Number.isNaN(this.#at)) this.#since = now;
    else this.#sum += this.#level * Math.max(0, now - this.#at);
    this.#at = now;
  }
}
