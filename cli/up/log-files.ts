import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_PREFIX } from '../../config/index.js';
import { FileLines, plainText } from '../../runtime/index.js';

const MAX_BYTES = 32 * 1024 * 1024;
const WARN = 40;

/**
 * A child's line for the terminal; null below a warning. Pino writes JSON; `reportError` writes a
 * plain line.
 */
export function errorLineOf(child: string, line: string): string | null {
  if (line.startsWith(ERROR_PREFIX))
    return `${child}: ${plainText(line.slice(ERROR_PREFIX.length)).slice(0, 300)}`;
  if (!line.startsWith('{')) return null;
  try {
    const { level, msg } = JSON.parse(line) as { level?: unknown; msg?: unknown };
    if (typeof level !== 'number' || level < WARN) return null;
    return `${child}: ${plainText(String(msg ?? '')).slice(0, 300)}`;
  } catch {
    return null;
  }
}

interface LogFile {
  readonly descriptor: number;
  readonly lines: FileLines;
}

/**
 * One bounded log file per child in the state folder, truncated at each start. Lines that cannot be
 * written are counted and do not stop the supervisor.
 */
export class LogFiles {
  readonly #folder: string;
  readonly #files = new Map<string, LogFile>();
  readonly #failed: (child: string, error: unknown) => void;
  #failing = false;

  /** `failed`: called once whenever writing begins to fail. */
  constructor(folder: string, failed: (child: string, error: unknown) => void) {
    this.#folder = folder;
    this.#failed = failed;
    mkdirSync(folder, { recursive: true });
  }

  write(child: string, line: string): void {
    try {
      const { lines } = this.#of(child);
      if (lines.bytes > MAX_BYTES) return;
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
      const descriptor = openSync(join(this.#folder, `${child}.log`), 'w', 0o600);
      file = {
        descriptor,
        lines: new FileLines(descriptor, (dropped) => `--- ${dropped} lines are missing\n`),
      };
      this.#files.set(child, file);
    }
    return file;
  }
}
