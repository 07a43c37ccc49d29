interface QueueItem<T> {
  readonly item: T;
  readonly size: number;
}

/** So many taken places are kept before the array is made shorter. */
const SLACK = 1024;

/**
 * First in, first out, and bounded: of more than fit the oldest go, for the newest figure is the
 * one that is worth something (field-notes A4-07). Sizes are in any unit: bytes, or 1 each.
 */
export class DroppingQueue<T> {
  readonly #capacity: number;
  #items: (QueueItem<T> | undefined)[] = [];
  #first = 0;
  #size = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get length(): number {
    return this.#items.length - this.#first;
  }

  /** How many were dropped for it; itself where it is larger than the whole queue. */
  push(item: T, size = 1): number {
    this.#items.push({ item, size });
    this.#size += size;
    let dropped = 0;
    while (this.#size > this.#capacity) {
      this.#take();
      dropped++;
    }
    return dropped;
  }

  /** Size of the oldest; undefined: empty. */
  get nextSize(): number | undefined {
    return this.#items[this.#first]?.size;
  }

  /** The oldest; undefined: empty. */
  shift(): T | undefined {
    return this.length === 0 ? undefined : this.#take().item;
  }

  /** How many there were. */
  clear(): number {
    const { length } = this;
    this.#items = [];
    this.#first = 0;
    this.#size = 0;
    return length;
  }

  #take(): QueueItem<T> {
    const items = this.#items[this.#first] as QueueItem<T>;
    this.#items[this.#first++] = undefined;
    this.#size -= items.size;
    if (this.#first >= SLACK && this.#first * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return items;
  }
}
