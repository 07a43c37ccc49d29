/**
 * Whose turn is first on each host, where each activation on it is due at an instant of its own.
 * Looked for again only where the one that was first is gone, or due at another instant.
 */
export class DueTimeCache {
  /** NaN: to be looked for. */
  readonly #next: Float64Array;
  readonly #first: Int32Array;

  constructor(hosts: number) {
    this.#next = new Float64Array(hosts).fill(Number.POSITIVE_INFINITY);
    this.#first = new Int32Array(hosts).fill(-1);
  }

  /** An activation joined, or its instant changed. */
  changed(host: number, a: number, due: number): void {
    if (due < this.#next[host]!) {
      this.#next[host] = due;
      this.#first[host] = a;
    } else if (this.#first[host] === a) this.#next[host] = Number.NaN;
  }

  gone(host: number, a: number): void {
    if (this.#first[host] === a) this.#next[host] = Number.NaN;
  }

  /** The host must be searched again. */
  forget(host: number): void {
    this.#next[host] = Number.NaN;
  }

  /** No activation is due. */
  clear(host: number): void {
    this.#next[host] = Number.POSITIVE_INFINITY;
    this.#first[host] = -1;
  }

  /**
   * The earliest instant of those at `from` to `to` (exclusive) of the host's list, whose instants
   * `due` has.
   */
  next(host: number, due: Float64Array, list: Int32Array, from: number, to: number): number {
    const known = this.#next[host]!;
    return Number.isNaN(known) ? this.#findNext(host, due, list, from, to) : known;
  }

  /** The activation of the instant; call `next` first. */
  first(host: number): number {
    return this.#first[host]!;
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
    this.#next[host] = next;
    this.#first[host] = first;
    return next;
  }
}
