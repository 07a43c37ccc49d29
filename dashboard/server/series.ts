import type { Columns } from '../wire.js';

/** Rows of numbers in a ring of fixed size, the first the time in seconds; what is unknown is NaN inside and null outside. */
export class Series<K extends string> {
  readonly #columns: readonly K[];
  readonly #values: Float64Array;
  readonly #capacity: number;
  #next = 0;
  #length = 0;

  constructor(columns: readonly K[], capacity: number) {
    this.#columns = columns;
    this.#capacity = capacity;
    this.#values = new Float64Array(columns.length * capacity);
  }

  get length(): number {
    return this.#length;
  }

  push(row: Readonly<Partial<Record<K, number | null | undefined>>>): void {
    const width = this.#columns.length;
    const start = this.#next * width;
    for (let i = 0; i < width; i++) this.#values[start + i] = row[this.#columns[i]!] ?? Number.NaN;
    this.#next = (this.#next + 1) % this.#capacity;
    this.#length = Math.min(this.#length + 1, this.#capacity);
  }

  #row(age: number): number {
    return ((this.#next - 1 - age + 2 * this.#capacity) % this.#capacity) * this.#columns.length;
  }

  /** The newest row; null: none. */
  last(): (number | null)[] | null {
    if (this.#length === 0) return null;
    const start = this.#row(0);
    return this.#columns.map((_, i) => shown(this.#values[start + i]!, i));
  }

  /** Oldest first. */
  columns(): Columns<K> {
    const out = {} as Record<K, (number | null)[]>;
    for (const [i, name] of this.#columns.entries()) {
      const values: (number | null)[] = [];
      for (let age = this.#length - 1; age >= 0; age--) values.push(shown(this.#values[this.#row(age) + i]!, i));
      out[name] = values;
    }
    return out;
  }
}

/** Four digits say enough for a plot, and keep what has hardly changed the same. */
export function rounded(value: number): number {
  if (!Number.isFinite(value) || value === 0) return 0;
  const scale = 10 ** (3 - Math.floor(Math.log10(Math.abs(value))));
  return scale > 1 ? Math.round(value * scale) / scale : Math.round(value);
}

/** The first column is the time, and needs its digits. */
const shown = (value: number, column: number): number | null =>
  Number.isFinite(value) ? (column === 0 ? Math.round(value * 10) / 10 : rounded(value)) : null;
