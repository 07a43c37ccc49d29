import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_PREFIX } from '../../config/index.js';
import { FileLines, plainText } from '../../runtime/index.js';

const MAX_BYTES = 32 * 1024 * 1024;
const WARN = 40;

/**
 * A child's line as a person reads it, null where it is below a warning. Pino's lines are JSON; why
 * a part cannot start is a plain line of `reportError`.
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
 * One log file per child in the state folder, begun anew at each start and bounded. A folder that
 * cannot be written or is full costs lines, which are counted, and never the supervisor.
 */
export class LogFiles {
  readonly #folder: string;
  readonly #files = new Map<string, LogFile>();
  readonly #failed: (child: string, error: unknown) => void;
  #failing = false;

  /** `failed`: told once for each time that lines begin to be missing. */
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
        lines: new FileLines(descriptor, (dropped) => `--- ${dropped} lines are missing here\n`),
      };
      this.#files.set(child, file);
    }
    return file;
  }
}
