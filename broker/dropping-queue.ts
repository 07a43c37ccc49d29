interface QueueItem<T> {
  readonly item: T;
  readonly size: number;
}

/** Free places at the front before the array is compacted. */
const SLACK = 1024;

/** A bounded FIFO that drops the oldest when full: the newest figure is the useful one. */
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

  /** `size` in any unit. @returns how many were dropped, itself if it is larger than the queue */
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

  get nextSize(): number | undefined {
    return this.#items[this.#first]?.size;
  }

  shift(): T | undefined {
    return this.length === 0 ? undefined : this.#take().item;
  }

  /** @returns how many were dropped */
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
