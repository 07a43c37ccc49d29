interface Held<T> {
  readonly item: T;
  readonly size: number;
}

/** So many taken places are kept before the array is made shorter. */
const SLACK = 1024;

/**
 * First in, first out, and bounded: of more than fit the oldest go, for the newest figure is the one that is worth something (field-notes A4-07).
 * Sizes are in any unit: bytes, or 1 each.
 */
export class DroppingQueue<T> {
  readonly #most: number;
  #held: (Held<T> | undefined)[] = [];
  #first = 0;
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get length(): number {
    return this.#held.length - this.#first;
  }

  /** How many were dropped for it; itself where it is larger than the whole queue. */
  push(item: T, size = 1): number {
    this.#held.push({ item, size });
    this.#size += size;
    let dropped = 0;
    while (this.#size > this.#most) {
      this.#take();
      dropped++;
    }
    return dropped;
  }

  /** Size of the oldest; undefined: empty. */
  get nextSize(): number | undefined {
    return this.#held[this.#first]?.size;
  }

  /** The oldest; undefined: empty. */
  shift(): T | undefined {
    return this.length === 0 ? undefined : this.#take().item;
  }

  /** How many there were. */
  clear(): number {
    const { length } = this;
    this.#held = [];
    this.#first = 0;
    this.#size = 0;
    return length;
  }

  #take(): Held<T> {
    const held = this.#held[this.#first] as Held<T>;
    this.#held[this.#first++] = undefined;
    this.#size -= held.size;
    if (this.#first >= SLACK && this.#first * 2 >= this.#held.length) {
      this.#held = this.#held.slice(this.#first);
      this.#first = 0;
    }
    return held;
  }
}
