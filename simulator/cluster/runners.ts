import type { ActivationColumns } from './activations.js';
import { longer } from './sleepers.js';

/**
 * Who runs on each host, ordered by cap / weight: in weighted max-min sharing, whoever is satisfied stands before all that are not. Equal
 * ones stay in the order they came.
 */
export class Runners {
  readonly #c: ActivationColumns;
  readonly #lists: Int32Array[];
  readonly counts: Int32Array;

  constructor(columns: ActivationColumns, hosts: number) {
    this.#c = columns;
    this.#lists = Array.from({ length: hosts }, () => new Int32Array(16));
    this.counts = new Int32Array(hosts);
  }

  /** The first `counts[host]` count. Good until the next one comes. */
  on(host: number): Int32Array {
    return this.#lists[host]!;
  }

  add(a: number): void {
    const { host: hosts, ratio } = this.#c;
    const host = hosts[a]!;
    let list = this.#lists[host]!;
    const count = this.counts[host]!;
    if (count === list.length) {
      list = longer(list);
      this.#lists[host] = list;
    }
    const own = ratio[a]!;
    let i = count;
    for (; i > 0; i--) {
      const before = list[i - 1]!;
      if (ratio[before]! <= own) break;
      list[i] = before;
    }
    list[i] = a;
    this.counts[host] = count + 1;
  }

  remove(a: number): void {
    const host = this.#c.host[a]!;
    const list = this.#lists[host]!;
    const last = this.counts[host]! - 1;
    let i = 0;
    while (list[i] !== a) i++;
    for (; i < last; i++) list[i] = list[i + 1]!;
    this.counts[host] = last;
  }
}
