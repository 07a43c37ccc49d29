import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_PREFIX } from '../../config/index.js';
import { FileLines, plainText } from '../../runtime/index.js';

/** Largest size of each of a child's two files. */
const MAX_BYTES = 16 * 1024 * 1024;
const WARN = 40;

/**
 * A child's line for the terminal; null below a warning. Pino writes JSON; `reportError` writes a
 * plain line.
 */
export function errorLineOf(child: string, line: string): string | null {
  if (line.startsWith(ERROR_PREFIX))
    return `${child}: ${inOneLine(line.slice(ERROR_PREFIX.length))}`;
  if (!line.startsWith('{')) return null;
  try {
    const { level, msg } = JSON.parse(line) as { level?: unknown; msg?: unknown };
    if (typeof level !== 'number' || level < WARN) return null;
    return `${child}: ${inOneLine(String(msg ?? ''))}`;
  } catch {
    return null;
  }
}

/** Some messages list problems, one per line. */
const inOneLine = (text: string): string => plainText(text.replace(/\s*\n\s*/g, ' ')).slice(0, 300);

interface LogFile {
  readonly descriptor: number;
  readonly lines: FileLines;
}

/**
 * The log of each child in the state folder since this start: the newest lines, and before them at
 * most `maxBytes` in `<child>.log.1`. Lines that cannot be written are counted and do not stop the
 * supervisor.
 */
export class LogFiles {
  readonly #folder: string;
  readonly #files = new Map<string, LogFile>();
  readonly #failed: (child: string, error: unknown) => void;
  readonly #maxBytes: number;
  #failing = false;

  /** `failed`: called once whenever writing begins to fail. */
  constructor(
    folder: string,
    failed: (child: string, error: unknown) => void,
    maxBytes = MAX_BYTES,
  ) {
    this.#folder = folder;
    this.#failed = failed;
    this.#maxBytes = maxBytes;
    mkdirSync(folder, { recursive: true });
  }

  write(child: string, line: string): void {
    try {
      let { lines } = this.#of(child);
      if (lines.bytes > this.#maxBytes) lines = this.#rotated(child).lines;
      if (!lines.write(`${line}\n`)) throw new Error('no room for a line');
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) this.#failed(child, error);
      this.#failing = true;
    }
  }

  close(): void {
    for (const { descriptor } of this.#files.values()) closeSync(descriptor);
    this.#files.clear();
  }

  #of(child: string): LogFile {
    let file = this.#files.get(child);
    if (file === undefined) {
      // Of an earlier start.
      rmSync(`${this.#path(child)}.1`, { force: true });
      file = this.#open(child);
    }
    return file;
  }

  #rotated(child: string): LogFile {
    const full = this.#of(child);
    // It is gone if the new one could not be opened the last time, as on a full disk.
    const path = this.#path(child);
    if (existsSync(path)) renameSync(path, `${path}.1`);
    const file = this.#open(child);
    closeSync(full.descriptor);
    return file;
  }

  #open(child: string): LogFile {
    const descriptor = openSync(this.#path(child), 'w', 0o600);
    const file = {
      descriptor,
      lines: new FileLines(descriptor, (dropped) => `--- ${dropped} lines are missing\n`),
    };
    this.#files.set(child, file);
    return file;
  }

  #path(child: string): string {
    return join(this.#folder, `${child}.log`);
  }
}
