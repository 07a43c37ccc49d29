/**
 * Whose turn is first on each host, where each activation on it is due at an instant of its own.
 * Looked for again only where the one that was first is gone, or due at another instant.
 */
export class DueTimeCache {
  /** NaN: to be looked for. */
  declare private readonly dueAt: Float64Array;
  declare private readonly turn: Int32Array;

  constructor(hosts: number) {
    this.dueAt = new Float64Array(hosts).fill(Number.POSITIVE_INFINITY);
    this.turn = new Int32Array(hosts).fill(-1);
  }

  /** An activation joined, or its instant changed. */
  changed(host: number, a: number, due: number): void {
    if (due < this.dueAt[host]!) {
      this.dueAt[host] = due;
      this.turn[host] = a;
    } else if (this.turn[host] === a) this.dueAt[host] = Number.NaN;
  }

  gone(host: number, a: number): void {
    if (this.turn[host] === a) this.dueAt[host] = Number.NaN;
  }

  /** The host must be searched again. */
  forget(host: number): void {
    this.dueAt[host] = Number.NaN;
  }

  /** No activation is due. */
  clear(host: number): void {
    this.dueAt[host] = Number.POSITIVE_INFINITY;
    this.turn[host] = -1;
  }

  /**
   * The earliest instant of those at `from` to `to` (exclusive) of the host's list, whose instants
   * `due` has.
   */
  next(host: number, due: Float64Array, list: Int32Array, from: number, to: number): number {
    const known = this.dueAt[host]!;
    return Number.isNaN(known) ? this.#findNext(host, due, list, from, to) : known;
  }

  /** The activation of the instant; call `next` first. */
  first(host: number): number {
    return this.turn[host]!;
  }

  #findNext(host: number, due: Float64Array, list: Int32Array, from: number, to: number): number {
    let next = Number.POSITIVE_INFINITY;
    let first = -1;
    for (let i = from; i < to; i++) {
      const a = list[i]!;
      if (due[a]! < next) {
        next = due[a]!;
        first = a;
      }
    }
    this.dueAt[host] = next;
    this.turn[host] = first;
    return next;
  }
}
