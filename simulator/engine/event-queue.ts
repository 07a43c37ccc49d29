/**
 * Events in order of time: a binary heap in typed arrays, microseconds as integers. Equal times
 * leave in the order they came, so a run does not depend on the heap's shape. Grows by doubling;
 * nothing is allocated per event.
 *
 * There is no removal: an event carries a `stamp`, and its receiver ignores it where the thing it
 * was meant for has moved on.
 */
export class EventQueue {
  #at: Float64Array;
  declare private order: Float64Array;
  #kind: Uint8Array;
  #target: Int32Array;
  #stamp: Float64Array;
  #size = 0;
  #counter = 0;

  /** The event taken by the last `pop`. */
  at = 0;
  kind = 0;
  target = 0;
  stamp = 0;

  constructor(capacity = 1024) {
    this.#at = new Float64Array(capacity);
    this.order = new Float64Array(capacity);
    this.#kind = new Uint8Array(capacity);
    this.#target = new Int32Array(capacity);
    this.#stamp = new Float64Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** Time of the next event, Infinity if there is none. */
  get nextAt(): number {
    return this.#size > 0 ? this.#at[0]! : Number.POSITIVE_INFINITY;
  }

  push(at: number, kind: number, target: number, stamp: number): void {
    if (this.#size === this.#at.length) this.#grow();
    let i = this.#size++;
    const order = this.#counter++;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const parentAt = this.#at[parent]!;
      if (parentAt < at || (parentAt === at && this.order[parent]! < order)) break;
      this.#move(parent, i);
      i = parent;
    }
    this.#at[i] = at;
    this.order[i] = order;
    this.#kind[i] = kind;
    this.#target[i] = target;
    this.#stamp[i] = stamp;
  }

  /** Takes the next event into `at`, `kind`, `target`, `stamp`; false if there is none. */
  pop(): boolean {
    if (this.#size === 0) return false;
    this.at = this.#at[0]!;
    this.kind = this.#kind[0]!;
    this.target = this.#target[0]!;
    this.stamp = this.#stamp[0]!;
    const last = --this.#size;
    if (last === 0) return true;
    const at = this.#at[last]!;
    const order = this.order[last]!;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= last) break;
      if (child + 1 < last && this.#before(child + 1, child)) child++;
      const childAt = this.#at[child]!;
      if (at < childAt || (at === childAt && order < this.order[child]!)) break;
      this.#move(child, i);
      i = child;
    }
    this.#move(last, i);
    return true;
  }

  #before(a: number, b: number): boolean {
    const x = this.#at[a]!;
    const y = this.#at[b]!;
    return x < y || (x === y && this.order[a]! < this.order[b]!);
  }

  #move(from: number, to: number): void {
    this.#at[to] = this.#at[from]!;
    this.order[to] = this.order[from]!;
    this.#kind[to] = this.#kind[from]!;
    this.#target[to] = this.#target[from]!;
    this.#stamp[to] = this.#stamp[from]!;
  }

  #grow(): void {
    const size = this.#at.length * 2;
    const at = new Float64Array(size);
    at.set(this.#at);
    this.#at = at;
    const order = new Float64Array(size);
    order.set(this.order);
    this.order = order;
    const kind = new Uint8Array(size);
    kind.set(this.#kind);
    this.#kind = kind;
    const target = new Int32Array(size);
    target.set(this.#target);
    this.#target = target;
    const stamp = new Float64Array(size);
    stamp.set(this.#stamp);
    this.#stamp = stamp;
  }
}
