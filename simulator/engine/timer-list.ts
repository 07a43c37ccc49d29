import { type ActivationColumns, Due } from './activations.js';

/**
 * Activations of each host that wait for an instant: creation of a container, unpausing, I/O, the
 * next period of a quota. The earliest `dueAt` is searched again only after it was removed.
 */
export class TimerList {
  readonly #c: ActivationColumns;
  readonly #lists: Int32Array[];
  readonly counts: Int32Array;
  /** NaN: to be searched. */
  readonly #next: Float64Array;

  constructor(columns: ActivationColumns, hosts: number) {
    this.#c = columns;
    this.#lists = Array.from({ length: hosts }, () => new Int32Array(16));
    this.counts = new Int32Array(hosts);
    this.#next = new Float64Array(hosts).fill(Number.POSITIVE_INFINITY);
  }

  at(host: number, index: number): number {
    return this.#lists[host]![index]!;
  }

  /** Until `dueAt`, which is set. */
  add(a: number): void {
    const c = this.#c;
    const host = c.host[a]!;
    let list = this.#lists[host]!;
    const count = this.counts[host]!;
    if (count === list.length) {
      list = longer(list);
      this.#lists[host] = list;
    }
    list[count] = a;
    c.place[a] = count;
    this.counts[host] = count + 1;
    const due = c.dueAt[a]!;
    if (due < this.#next[host]!) this.#next[host] = due;
  }

  /** Starts a phase that only waits. */
  startTimer(a: number, phase: number, until: number): void {
    const c = this.#c;
    c.phase[a] = phase;
    c.dueAt[a] = until;
    c.dueKind[a] = Due.timer;
    this.add(a);
  }

  remove(a: number): void {
    const c = this.#c;
    const host = c.host[a]!;
    if (c.dueAt[a]! <= this.#next[host]!) this.#next[host] = Number.NaN;
    const list = this.#lists[host]!;
    const last = this.counts[host]! - 1;
    const place = c.place[a]!;
    const moved = list[last]!;
    list[place] = moved;
    c.place[moved] = place;
    this.counts[host] = last;
  }

  next(host: number): number {
    const known = this.#next[host]!;
    if (!Number.isNaN(known)) return known;
    const list = this.#lists[host]!;
    const count = this.counts[host]!;
    const { dueAt } = this.#c;
    let due = Number.POSITIVE_INFINITY;
    for (let i = 0; i < count; i++) {
      const at = dueAt[list[i]!]!;
      if (at < due) due = at;
    }
    this.#next[host] = due;
    return due;
  }

  /** The activation of `next`. */
  first(host: number): number {
    const next = this.next(host);
    const list = this.#lists[host]!;
    const { dueAt } = this.#c;
    let i = 0;
    while (dueAt[list[i]!] !== next) i++;
    return list[i]!;
  }
}

export function longer(list: Int32Array): Int32Array {
  const grown = new Int32Array(2 * list.length);
  grown.set(list);
  return grown;
}
