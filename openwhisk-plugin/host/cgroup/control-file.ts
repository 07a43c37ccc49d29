import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { CgroupNotFoundError, CgroupOpenFilesError, CgroupReadOnlyError } from './cgroup-errors.js';

/** `max` of v2, -1 and PAGE_COUNTER_MAX of v1. */
export const UNLIMITED = Number.POSITIVE_INFINITY;
/** Result of {@link ControlFile.number} if the cgroup is gone or the text is not a number. */
export const UNREADABLE = -2;

const NEWLINE = 10;
const SPACE = 32;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;
const LETTER_M = 109;
/** v1 prints "no limit" as the largest multiple of the page size below 2^63. */
const V1_UNLIMITED = 2 ** 62;
const LARGEST_FILE = 16 * 1024;

/** Shared by all files: every use fills it, and is done with it, within one synchronous call. */
const buffer = Buffer.alloc(LARGEST_FILE);

export type WriteError = 'EBUSY' | 'EINVAL' | 'gone' | 'other';
const WRITE_ERRORS: Readonly<Record<string, WriteError>> = {
  EBUSY: 'EBUSY',
  EINVAL: 'EINVAL',
  ERANGE: 'EINVAL',
  ENODEV: 'gone',
  ENOENT: 'gone',
};

/**
 * One file of a cgroup on a descriptor that stays open: 1-2 us an access instead of 9, and a
 * vanished cgroup answers ENODEV instead of a new one with its name. Allocates only on failure.
 */
export class ControlFile {
  #descriptor: number;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** Null: the kernel does not offer it. Throws CgroupReadOnly-, NotFound-, OpenFilesError. */
  static open(path: string, mode: 'r' | 'r+'): ControlFile | null {
    try {
      return new ControlFile(openSync(path, mode));
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOENT' || code === 'ENODEV') return null;
      if (code === 'EMFILE' || code === 'ENFILE') throw new CgroupOpenFilesError(path, error);
      if (mode === 'r+') throw new CgroupReadOnlyError(path, error);
      throw new CgroupNotFoundError(`cannot read ${path}`, error);
    }
  }

  /** The number at `position` of the first line (0 = first word). */
  number(position = 0): number {
    const length = this.fill();
    let at = 0;
    for (let word = 0; word < position && at < length; at++) if (buffer[at] === SPACE) word++;
    return numberAt(at, length);
  }

  /** Reads the file into the shared buffer; its length, or -1 when the cgroup is gone. */
  fill(): number {
    try {
      return readSync(this.#descriptor, buffer, 0, LARGEST_FILE, 0);
    } catch {
      return -1;
    }
  }

  /** As {@link fill}, with runs of spaces made one: /proc/meminfo aligns its values. */
  fillWords(): number {
    const length = this.fill();
    let end = 0;
    for (let at = 0; at < length; at++) {
      if (buffer[at] === SPACE && buffer[at - 1] === SPACE) continue;
      buffer[end++] = buffer[at] as number;
    }
    return length < 0 ? length : end;
  }

  /** -1 when the cgroup is gone or the file empty. */
  firstByte(): number {
    return this.fill() > 0 ? (buffer[0] as number) : -1;
  }

  /** Null = written. {@link UNLIMITED} is written as the text `unlimited`. */
  write(value: number, unlimited: '-1' | 'max' = '-1', suffix = -1): WriteError | null {
    let length = value === UNLIMITED ? buffer.write(unlimited, 0, 'latin1') : digits(value, 0);
    if (suffix >= 0) {
      buffer[length++] = SPACE;
      length = digits(suffix, length);
    }
    buffer[length++] = NEWLINE;
    try {
      writeSync(this.#descriptor, buffer, 0, length, 0);
      return null;
    } catch (error) {
      return WRITE_ERRORS[(error as NodeJS.ErrnoException).code ?? ''] ?? 'other';
    }
  }

  close(): void {
    if (this.#descriptor < 0) return;
    closeSync(this.#descriptor);
    this.#descriptor = -1;
  }
}

/** A key of a flat-keyed file (`memory.stat`, `cpu.stat`): a whole word at the start of a line. */
export class StatKey {
  readonly #inner: Buffer;

  constructor(name: string) {
    this.#inner = Buffer.from(`\n${name} `, 'latin1');
  }

  /** Its value in what {@link ControlFile.fill} has just read; -1 if there is none. */
  valueOf(length: number): number {
    const size = this.#inner.length;
    outer: for (let at = -1; at + size <= length; at++) {
      for (let i = at < 0 ? 1 : 0; i < size; i++) {
        if (buffer[at + i] !== this.#inner[i]) continue outer;
      }
      return numberAt(at + size, length);
    }
    return -1;
  }

  /** As {@link valueOf}, for the first `name=value` word of a file (`some avg10=0.00 total=5`). */
  static wordOf(word: Buffer, length: number): number {
    const at = buffer.indexOf(word);
    return at < 0 || at + word.length > length ? -1 : numberAt(at + word.length, length);
  }
}

function numberAt(start: number, length: number): number {
  let at = start;
  if (at >= length) return UNREADABLE;
  if (buffer[at] === LETTER_M) return UNLIMITED;
  const negative = buffer[at] === MINUS;
  if (negative) at++;
  let value = 0;
  let seen = false;
  for (; at < length; at++) {
    const digit = buffer[at] as number;
    if (digit < ZERO || digit > NINE) break;
    value = value * 10 + (digit - ZERO);
    seen = true;
  }
  if (!seen) return UNREADABLE;
  if (negative) return value === 1 ? UNLIMITED : -value;
  return value >= V1_UNLIMITED ? UNLIMITED : value;
}

/** Writes a non-negative integer into the shared buffer; where it ends. */
function digits(value: number, start: number): number {
  let end = start + 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) end++;
  let rest = value;
  for (let at = end - 1; at >= start; at--) {
    buffer[at] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  return end;
}
