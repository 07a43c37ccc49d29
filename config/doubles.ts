/**
 * Doubles of several statistics side by side. V8 keeps each double field of an object in a box of
 * its own, and a host with thousands of functions reads them all from main memory.
 */
export class Doubles {
  readonly values: number[];
  #taken = 0;

  constructor(size: number) {
    this.values = zeros(size);
  }

  /** Takes the next `size` values, which are 0. Returns the place of the first. */
  take(size: number): number {
    const from = this.#taken;
    this.#taken += size;
    if (this.#taken > this.values.length) throw new RangeError(`no ${size} doubles are left`);
    return from;
  }
}

const templates: number[][] = [];

/**
 * An array of doubles: a typed array of this size takes three times the memory. A fraction first,
 * so that the elements are doubles, and a copy, which is faster than a loop.
 */
export function zeros(size: number): number[] {
  templates[size] ??= Array.from({ length: size }, () => 0.5).fill(0);
  return templates[size].slice();
}
