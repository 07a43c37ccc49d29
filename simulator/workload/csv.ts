import { GleanerError } from '../../config/index.js';

/** A table that cannot be read; says where. */
export class TraceError extends GleanerError {
  readonly code = 'GLN_TRACE_INVALID';
  /** One-based, 0 where the file as a whole is meant. */
  readonly line: number;

  constructor(file: string, line: number, message: string, hint = 'see simulator/README.md for what is accepted') {
    super(line > 0 ? `${file}: line ${line}: ${message}` : `${file}: ${message}`, { hint });
    this.line = line;
  }
}

/** More than any published trace has (1440 minutes and a few); a file beyond it is not one, and would fill the memory. */
const MOST_COLUMNS = 4096;

export interface TableNotes {
  /** A byte order mark was skipped. */
  bom: boolean;
  /** Lines that ended in CR LF. */
  crlf: number;
  /** Empty lines, skipped. */
  blank: number;
}

/**
 * A plain CSV table as the Azure traces use it: a header, no quoting, every row as wide as the header. Rules: a byte order mark
 * and CR LF are accepted and counted, empty lines are skipped and counted, everything else that differs is an error with its line.
 */
export class Table {
  readonly file: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Line number of each row. */
  readonly lines: readonly number[];
  readonly notes: TableNotes = { bom: false, crlf: 0, blank: 0 };
  readonly #columns = new Map<string, number>();

  /** @param file names the table in errors. @throws TraceError */
  constructor(file: string, content: string | Uint8Array) {
    this.file = file;
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    // Two bytes say gzip, before anything else is tried: the full traces come packed.
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) throw new TraceError(file, 0, 'is packed with gzip', 'unpack it first');
    let start = 0;
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
      this.notes.bom = true;
      start = 3;
    }
    const rows: string[][] = [];
    const lines: number[] = [];
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let header: string[] | undefined;
    for (let at = start, line = 1; at < bytes.length; line++) {
      let end = bytes.indexOf(0x0a, at);
      if (end < 0) end = bytes.length;
      let stop = end;
      if (stop > at && bytes[stop - 1] === 0x0d) {
        this.notes.crlf++;
        stop--;
      }
      if (stop === at) {
        this.notes.blank++;
      } else {
        const fields = this.#split(bytes, at, stop, line, decoder);
        if (header === undefined) {
          header = fields;
        } else {
          if (fields.length !== header.length) {
            throw new TraceError(file, line, `${fields.length} columns, but the header has ${header.length}`);
          }
          rows.push(fields);
          lines.push(line);
        }
      }
      at = end + 1;
    }
    if (header === undefined) throw new TraceError(file, 1, 'is empty: there is no header');
    if (rows.length === 0) throw new TraceError(file, 2, 'has a header but no rows');
    header.forEach((name, index) => {
      if (this.#columns.has(name)) throw new TraceError(file, 1, `column '${name}' is there twice`);
      this.#columns.set(name, index);
    });
    this.header = header;
    this.rows = rows;
    this.lines = lines;
  }

  has(column: string): boolean {
    return this.#columns.has(column);
  }

  /** @throws TraceError where there is no such column */
  column(name: string): number {
    const index = this.#columns.get(name);
    if (index === undefined) throw new TraceError(this.file, 1, `there is no column '${name}'`);
    return index;
  }

  text(row: number, column: number): string {
    return this.rows[row]![column]!;
  }

  /** A finite number >= 0; an empty field is `empty` where that is given, else an error. @throws TraceError */
  number(row: number, column: number, empty?: number): number {
    const text = this.rows[row]![column]!;
    if (text === '' && empty !== undefined) return empty;
    const value = /^\d+(\.\d*)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (!Number.isFinite(value)) {
      throw new TraceError(
        this.file,
        this.lines[row]!,
        `column '${this.header[column]}' is '${text.slice(0, 40)}', not a number >= 0`,
      );
    }
    return value;
  }

  #split(
    bytes: Uint8Array,
    from: number,
    to: number,
    line: number,
    decoder: InstanceType<typeof TextDecoder>,
  ): string[] {
    const fields: string[] = [];
    let start = from;
    for (let i = from; i <= to; i++) {
      if (i < to && bytes[i] !== 0x2c) continue;
      if (fields.length === MOST_COLUMNS) throw new TraceError(this.file, line, `more than ${MOST_COLUMNS} columns`);
      try {
        fields.push(decoder.decode(bytes.subarray(start, i)).trim());
      } catch {
        throw new TraceError(this.file, line, `column ${fields.length + 1} is not UTF-8`);
      }
      start = i + 1;
    }
    return fields;
  }
}
