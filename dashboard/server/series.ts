import type { Columns } from '../wire.js';

/** Rows allocated at first. */
const INITIAL_ROWS = 8;

/**
 * A ring of rows of numbers, the first column being the time in seconds. It grows up to
 * `capacity`, since most functions are called only a few times. Unknown values are stored as NaN
 * and returned as null.
 */
export class Series<K extends string> {
  readonly #columns: readonly K[];
  #values: Float64Array;
  readonly #capacity: number;
  /** Current size of the ring; it wraps only at full capacity. */
  #allocatedRows: number;
  #next = 0;
  #length = 0;

  constructor(columns: readonly K[], capacity: number) {
    this.#columns = columns;
    this.#capacity = capacity;
    this.#allocatedRows = Math.min(INITIAL_ROWS, capacity);
    this.#values = new Float64Array(columns.length * this.#allocatedRows);
  }

  get length(): number {
    return this.#length;
  }

  push(row: Readonly<Partial<Record<K, number | null | undefined>>>): void {
    const width = this.#columns.length;
    if (this.#length === this.#allocatedRows && this.#allocatedRows < this.#capacity)
      this.#grow(width);
    const start = this.#next * width;
    for (let i = 0; i < width; i++) this.#values[start + i] = row[this.#columns[i]!] ?? Number.NaN;
    this.#next = (this.#next + 1) % this.#allocatedRows;
    this.#length = Math.min(this.#length + 1, this.#allocatedRows);
  }

  #grow(width: number): void {
    this.#allocatedRows = Math.min(this.#capacity, this.#allocatedRows * 2);
    const values = new Float64Array(width * this.#allocatedRows);
    values.set(this.#values);
    this.#values = values;
    this.#next = this.#length;
  }

  #row(age: number): number {
    return (
      ((this.#next - 1 - age + 2 * this.#allocatedRows) % this.#allocatedRows) *
      this.#columns.length
    );
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
      for (let age = this.#length - 1; age >= 0; age--)
        values.push(shown(this.#values[this.#row(age) + i]!, i));
      out[name] = values;
    }
    return out;
  }
}

/** Four digits are enough for a plot, and small changes then need no update. */
export function rounded(value: number): number {
  if (!Number.isFinite(value) || value === 0) return 0;
  const scale = 10 ** (3 - Math.floor(Math.log10(Math.abs(value))));
  return scale > 1 ? Math.round(value * scale) / scale : Math.round(value);
}

/** The time, in the first column, keeps its digits. */
const shown = (value: number, column: number): number | null =>
  Number.isFinite(value) ? (column === 0 ? Math.round(value * 10) / 10 : rounded(value)) : null;
