import type { ActivationColumns } from './activations.js';

/**
 * First-in-first-out queues of activations, by host or by function, linked through the `next`
 * column.
 */
export class Waiting {
  declare private readonly c: ActivationColumns;
  declare private readonly heads: Int32Array;
  declare private readonly tails: Int32Array;
  /** In all queues. */
  count = 0;

  constructor(columns: ActivationColumns, queues: number) {
    this.c = columns;
    this.heads = new Int32Array(queues).fill(-1);
    this.tails = new Int32Array(queues).fill(-1);
  }

  /** -1 if the queue is empty. */
  first(queue: number): number {
    return this.heads[queue]!;
  }

  push(queue: number, activation: number): void {
    this.c.next[activation] = -1;
    const last = this.tails[queue]!;
    if (last >= 0) this.c.next[last] = activation;
    else this.heads[queue] = activation;
    this.tails[queue] = activation;
    this.count++;
  }

  shift(queue: number): number {
    const first = this.heads[queue]!;
    if (first < 0) return -1;
    const next = this.c.next[first]!;
    this.heads[queue] = next;
    if (next < 0) this.tails[queue] = -1;
    this.count--;
    return first;
  }
}
