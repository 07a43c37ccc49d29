import { type ActivationColumns, Due as DUE } from './activations.js';

const Due = DUE;

/**
 * Activations of each host that wait for an instant: creation of a container, unpausing, I/O, the
 * next period of a quota. The earliest is searched again only after it was removed.
 */
export class TimerList {
  declare private readonly c: ActivationColumns;
  declare private readonly lists: Int32Array[];
  declare readonly counts: Int32Array;
  /** The earliest timer's `dueAt` (NaN: to be searched), and its index in the list. */
  declare private readonly nextAt: Float64Array;
  declare private readonly firstPlace: Int32Array;

  constructor(columns: ActivationColumns, hosts: number) {
    this.c = columns;
    this.lists = Array.from({ length: hosts }, () => new Int32Array(16));
    this.counts = new Int32Array(hosts);
    this.nextAt = new Float64Array(hosts).fill(Number.POSITIVE_INFINITY);
    this.firstPlace = new Int32Array(hosts).fill(-1);
  }

  at(host: number, index: number): number {
    return this.lists[host]![index]!;
  }

  /** Until `dueAt`, which is set. */
  add(a: number): void {
    const c = this.c;
    const host = c.host[a]!;
    let list = this.lists[host]!;
    const count = this.counts[host]!;
    if (count === list.length) {
      list = longer(list);
      this.lists[host] = list;
    }
    list[count] = a;
    c.place[a] = count;
    this.counts[host] = count + 1;
    const due = c.dueAt[a]!;
    if (due < this.nextAt[host]!) {
      this.nextAt[host] = due;
      this.firstPlace[host] = count;
    }
  }

  /** Starts a phase that only waits. */
  startTimer(a: number, phase: number, until: number): void {
    const c = this.c;
    c.phase[a] = phase;
    c.dueAt[a] = until;
    c.dueKind[a] = Due.timer;
    this.add(a);
  }

  remove(a: number): void {
    const c = this.c;
    const host = c.host[a]!;
    const list = this.lists[host]!;
    const last = this.counts[host]! - 1;
    const place = c.place[a]!;
    const moved = list[last]!;
    const next = this.nextAt[host]!;
    // Of those that are due at one instant the first in the list goes first: one that moves may be.
    if (c.dueAt[a]! <= next || c.dueAt[moved]! <= next) this.nextAt[host] = Number.NaN;
    list[place] = moved;
    c.place[moved] = place;
    this.counts[host] = last;
  }

  next(host: number): number {
    const known = this.nextAt[host]!;
    return Number.isNaN(known) ? this.#findNext(host) : known;
  }

  /** The activation of `next`. */
  first(host: number): number {
    if (Number.isNaN(this.nextAt[host]!)) this.#findNext(host);
    return this.lists[host]![this.firstPlace[host]!]!;
  }

  #findNext(host: number): number {
    const list = this.lists[host]!;
    const count = this.counts[host]!;
    const { dueAt } = this.c;
    let due = Number.POSITIVE_INFINITY;
    let first = -1;
    for (let i = 0; i < count; i++) {
      const at = dueAt[list[i]!]!;
      if (at < due) {
        due = at;
        first = i;
      }
    }
    this.nextAt[host] = due;
    this.firstPlace[host] = first;
    return due;
  }
}

export function longer(list: Int32Array): Int32Array {
  const grown = new Int32Array(2 * list.length);
  grown.set(list);
  return grown;
}
