import { closeSync, openSync, readSync } from 'node:fs';
import { messageOf } from '../../config/index.js';
import type { AnomalyLog } from './anomalies.js';
import { TraceError } from './trace-error.js';

/** A table of a trace: a file, read as it is needed, or its content; `name` stands in errors. */
export interface TraceSource {
  readonly name: string;
  readonly path?: string;
  readonly content?: string | Uint8Array;
}

/**
 * More than any published trace has (1440 minutes and a few); a file beyond it is not one, and
 * would fill the memory.
 */
const MOST_COLUMNS = 4096;
/** A line is held in memory whole; 1440 counts take 10 KiB at most. */
const LONGEST_LINE = 1 << 18;
const CHUNK = 1 << 16;

/**
 * Packed files, which the published sets come as, by first bytes or name. They are refused: nothing
 * is unpacked here.
 */
const PACKED: readonly {
  readonly kind: string;
  readonly magic: readonly number[];
  readonly name: RegExp;
  readonly hint: string;
}[] = [
  { kind: 'gzip', magic: [0x1f, 0x8b], name: /\.t?gz$/i, hint: 'gunzip' },
  {
    kind: 'RAR',
    magic: [0x52, 0x61, 0x72, 0x21],
    name: /\.rar$/i,
    hint: 'the trace of 2021 comes as RAR: unrar x',
  },
  {
    kind: 'xz',
    magic: [0xfd, 0x37, 0x7a, 0x58],
    name: /\.xz$/i,
    hint: 'the traces of 2019 come as tar.xz: tar xJf',
  },
  { kind: 'zip', magic: [0x50, 0x4b, 3, 4], name: /\.zip$/i, hint: 'unzip' },
  { kind: '7z', magic: [0x37, 0x7a, 0xbc, 0xaf], name: /\.7z$/i, hint: '7z x' },
  { kind: 'zstd', magic: [0x28, 0xb5, 0x2f, 0xfd], name: /\.zst$/i, hint: 'unzstd' },
  { kind: 'bzip2', magic: [0x42, 0x5a, 0x68, 0x39], name: /\.bz2$/i, hint: 'bunzip2' },
];

/** @throws TraceError where the file is packed */
export function refusePacked(name: string, head: Uint8Array): void {
  const packed = PACKED.find(
    (kind) => kind.name.test(name) || kind.magic.every((byte, i) => head[i] === byte),
  );
  if (packed === undefined) return;
  throw new TraceError(name, 0, `is packed (${packed.kind})`, `unpack it first (${packed.hint})`);
}

/**
 * A plain CSV table as the Azure traces use it: a header, no quoting, every row as wide as the
 * header. Rules: a byte order mark, CR LF and empty lines are accepted and noted, everything else
 * that differs is an error with its line. Rows pass one at a time; memory is that of the longest
 * line.
 */
export class TraceReader {
  readonly file: string;
  readonly header: readonly string[];
  /** Number of the current row, one-based. */
  line = 0;
  readonly #log: AnomalyLog;
  readonly #chunks: Iterator<Uint8Array>;
  readonly #columns = new Map<string, number>();
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  /** Where fields of the current line begin, and one beyond the last. */
  readonly #starts = new Int32Array(MOST_COLUMNS + 1);
  #buffer = new Uint8Array(CHUNK);
  #from = 0;
  #to = 0;
  #ended = false;
  #rows = 0;

  /** Reads the header. @throws TraceError */
  constructor(source: TraceSource, log: AnomalyLog) {
    this.file = source.name;
    this.#log = log;
    this.#chunks = chunksOf(source);
    this.#more();
    const head = this.#buffer.subarray(0, this.#to);
    refusePacked(this.file, head);
    if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) {
      this.#from = 3;
      log.note('bom', this.file, 1, 'begins with a byte order mark');
    }
    const width = this.#advance();
    if (width === 0) throw new TraceError(this.file, 1, 'is empty: there is no header');
    this.header = Array.from({ length: width }, (_, column) => this.text(column));
    this.header.forEach((name, index) => {
      if (this.#columns.has(name))
        throw new TraceError(this.file, this.line, `column '${name}' is there twice`);
      this.#columns.set(name, index);
    });
  }

  /** Moves on to the next row; false at the end. @throws TraceError */
  next(): boolean {
    const width = this.#advance();
    if (width === 0) {
      if (this.#rows === 0) throw new TraceError(this.file, 2, 'has a header but no rows');
      return false;
    }
    if (width !== this.header.length) {
      throw new TraceError(
        this.file,
        this.line,
        `${width} columns, but the header has ${this.header.length}`,
      );
    }
    this.#rows++;
    return true;
  }

  /** Lets the file go; to be called whether or not everything was read. */
  close(): void {
    this.#chunks.return?.();
  }

  has(column: string): boolean {
    return this.#columns.has(column);
  }

  /** @throws TraceError if there is no such column */
  column(name: string): number {
    const index = this.#columns.get(name);
    if (index === undefined) throw new TraceError(this.file, 1, `there is no column '${name}'`);
    return index;
  }

  text(column: number): string {
    return this.#decoder
      .decode(this.#buffer.subarray(this.#starts[column]!, this.#starts[column + 1]! - 1))
      .trim();
  }

  /**
   * Whether all fields of the row are numbers >= 0, whole ones if asked for. If not, the row is
   * noted, to be skipped: one of a million rows must not keep the others from being read.
   * `mayBeEmpty`: by column. @throws TraceError if nothing is let pass
   */
  isReadable(
    columns: readonly number[],
    isWhole: boolean,
    mayBeEmpty?: readonly boolean[],
  ): boolean {
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i]!;
      if (this.#digits(column) >= 0) continue;
      const text = this.text(column);
      if (text === '' && mayBeEmpty?.[i] === true) continue;
      const isNumber = Number.isFinite(numberIn(text));
      if (isNumber && !(isWhole && !Number.isInteger(numberIn(text)))) continue;
      const isNegative = Number.isFinite(numberIn(text.replace(/^-/, ''))) && !isNumber;
      const name = this.header[column]!;
      const problem = isNumber
        ? `column '${name}' is ${text}, not a whole number of activations`
        : notANumber(name, text);
      this.#log.note(isNegative ? 'negative' : 'unreadable', this.file, this.line, problem);
      return false;
    }
    return true;
  }

  /** A field that `isReadable` has passed; NaN: empty. */
  number(column: number): number {
    const whole = this.#digits(column);
    return whole >= 0 ? whole : numberIn(this.text(column));
  }

  /** Value of a field of one to nine digits, which nearly all are; else -1. */
  #digits(column: number): number {
    const end = this.#starts[column + 1]! - 1;
    let at = this.#starts[column]!;
    if (at === end || end - at > 9) return -1;
    let value = 0;
    for (; at < end; at++) {
      const digit = this.#buffer[at]! - 0x30;
      if (digit < 0 || digit > 9) return -1;
      value = value * 10 + digit;
    }
    return value;
  }

  /** Splits the next line that is not empty; its width, 0 at the end. */
  #advance(): number {
    for (;;) {
      let end = this.#buffer.subarray(0, this.#to).indexOf(0x0a, this.#from);
      while (end < 0 && this.#more())
        end = this.#buffer.subarray(0, this.#to).indexOf(0x0a, this.#from);
      if (end < 0) {
        if (this.#from === this.#to) return 0;
        end = this.#to;
      }
      this.line++;
      const from = this.#from;
      this.#from = Math.min(end + 1, this.#to);
      let stop = end;
      if (stop > from && this.#buffer[stop - 1] === 0x0d) {
        stop--;
        this.#log.note('crlf', this.file, this.line, 'ends in CR LF');
      }
      if (stop > from) return this.#split(from, stop);
      this.#log.note('blank', this.file, this.line, 'is empty');
    }
  }

  #split(from: number, stop: number): number {
    let width = 0;
    let ascii = true;
    this.#starts[0] = from;
    for (let at = from; at <= stop; at++) {
      const byte = at === stop ? 0x2c : this.#buffer[at]!;
      if (byte >= 0x80) ascii = false;
      if (byte !== 0x2c) continue;
      if (width === MOST_COLUMNS)
        throw new TraceError(this.file, this.line, `more than ${MOST_COLUMNS} columns`);
      this.#starts[++width] = at + 1;
    }
    if (!ascii) this.#checkText(width);
    return width;
  }

  #checkText(width: number): void {
    for (let column = 0; column < width; column++) {
      try {
        this.text(column);
      } catch {
        throw new TraceError(this.file, this.line, `column ${column + 1} is not UTF-8`);
      }
    }
  }

  /** Takes one chunk more in behind what is not used yet; false at the end of the file. */
  #more(): boolean {
    if (this.#ended) return false;
    const rest = this.#to - this.#from;
    if (rest > LONGEST_LINE) {
      this.line++;
      this.#split(this.#from, this.#to);
      throw new TraceError(this.file, this.line, `longer than ${LONGEST_LINE >> 10} KiB`);
    }
    const { value: chunk, done } = this.#chunks.next();
    if (done === true) {
      this.#ended = true;
      return false;
    }
    if (rest + chunk.length > this.#buffer.length) {
      const larger = new Uint8Array(2 * (rest + chunk.length));
      larger.set(this.#buffer.subarray(this.#from, this.#to));
      this.#buffer = larger;
    } else {
      this.#buffer.copyWithin(0, this.#from, this.#to);
    }
    this.#buffer.set(chunk, rest);
    this.#from = 0;
    this.#to = rest + chunk.length;
    return true;
  }
}

/** The number >= 0 a field holds; not finite where it holds none. */
export function numberIn(text: string): number {
  return /^\d+(\.\d*)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

export function notANumber(column: string, text: string): string {
  return `column '${column}' is '${text.slice(0, 40)}', not a number >= 0`;
}

/** Reads a table from first to last row. @throws TraceError */
export function readTable<T>(
  source: TraceSource,
  log: AnomalyLog,
  use: (reader: TraceReader) => T,
): T {
  const reader = new TraceReader(source, log);
  try {
    return use(reader);
  } finally {
    reader.close();
  }
}

function* chunksOf({ name, path, content }: TraceSource): Generator<Uint8Array, void> {
  if (path === undefined) {
    const bytes =
      typeof content === 'string'
        ? new TextEncoder().encode(content)
        : (content ?? new Uint8Array());
    for (let at = 0; at < bytes.length; at += CHUNK) yield bytes.subarray(at, at + CHUNK);
    return;
  }
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    throw new TraceError(name, 0, messageOf(error));
  }
  try {
    const chunk = new Uint8Array(CHUNK);
    for (let count = readSync(file, chunk); count > 0; count = readSync(file, chunk))
      yield chunk.subarray(0, count);
  } finally {
    closeSync(file);
  }
}
