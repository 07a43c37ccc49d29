import type { ActivationColumns } from './activations.js';

/**
 * First-in-first-out queues of activations, by host or by function, linked through the `next`
 * column.
 */
export class Waiting {
  readonly #c: ActivationColumns;
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  /** In all queues. */
  count = 0;

  constructor(columns: ActivationColumns, queues: number) {
    this.#c = columns;
    this.#first = new Int32Array(queues).fill(-1);
    this.#last = new Int32Array(queues).fill(-1);
  }

  /** -1 if the queue is empty. */
  first(queue: number): number {
    return this.#first[queue]!;
  }

  push(queue: number, activation: number): void {
    this.#c.next[activation] = -1;
    const last = this.#last[queue]!;
    if (last >= 0) this.#c.next[last] = activation;
    else this.#first[queue] = activation;
    this.#last[queue] = activation;
    this.count++;
  }

  shift(queue: number): number {
    const first = this.#first[queue]!;
    if (first < 0) return -1;
    const next = this.#c.next[first]!;
    this.#first[queue] = next;
    if (next < 0) this.#last[queue] = -1;
    this.count--;
    return first;
  }
}
