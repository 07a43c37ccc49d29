import { AnomalyLog } from './anomalies.js';
import { TraceError } from './trace-error.js';
import { notANumber, numberIn, readTable } from './trace-reader.js';

/**
 * A small table held in memory whole, for those who look at its rows in any order; read by the
 * rules of `TraceReader`.
 */
export class Table {
  readonly file: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Line number of each row. */
  readonly lines: readonly number[];

  /** @param file names the table in errors. @throws TraceError */
  constructor(file: string, content: string | Uint8Array) {
    this.file = file;
    const rows: string[][] = [];
    const lines: number[] = [];
    this.header = readTable({ name: file, content }, new AnomalyLog(), (reader) => {
      while (reader.next()) {
        rows.push(reader.header.map((_, column) => reader.text(column)));
        lines.push(reader.line);
      }
      return reader.header;
    });
    this.rows = rows;
    this.lines = lines;
  }

  has(column: string): boolean {
    return this.header.includes(column);
  }

  /** @throws TraceError if there is no such column */
  column(name: string): number {
    const index = this.header.indexOf(name);
    if (index < 0) throw new TraceError(this.file, 1, `there is no column '${name}'`);
    return index;
  }

  text(row: number, column: number): string {
    return this.rows[row]![column]!;
  }

  /** A finite number >= 0. @throws TraceError */
  number(row: number, column: number): number {
    const text = this.text(row, column);
    const value = numberIn(text);
    if (Number.isFinite(value)) return value;
    throw new TraceError(this.file, this.lines[row]!, notANumber(this.header[column]!, text));
  }
}
