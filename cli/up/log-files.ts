import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_PREFIX } from '../exit.js';
import { plainText } from '../output.js';

const MOST_BYTES = 32 * 1024 * 1024;
const WARN = 40;

/**
 * A child's line as a person reads it, null where it is below a warning. Pino's lines are JSON; why a part cannot start is a plain
 * line of `reportError`.
 */
export function noteOf(child: string, line: string): string | null {
  if (line.startsWith(ERROR_PREFIX)) return `${child}: ${plainText(line.slice(ERROR_PREFIX.length)).slice(0, 300)}`;
  if (!line.startsWith('{')) return null;
  try {
    const { level, msg } = JSON.parse(line) as { level?: unknown; msg?: unknown };
    if (typeof level !== 'number' || level < WARN) return null;
    return `${child}: ${plainText(String(msg ?? '')).slice(0, 300)}`;
  } catch {
    return null;
  }
}

/** One log file per child in the state folder, begun anew at each start and bounded. */
export class LogFiles {
  readonly #folder: string;
  readonly #files = new Map<string, { descriptor: number; written: number }>();

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  write(child: string, line: string): void {
    let file = this.#files.get(child);
    if (!file) {
      file = { descriptor: openSync(join(this.#folder, `${child}.log`), 'w', 0o600), written: 0 };
      this.#files.set(child, file);
    }
    if (file.written > MOST_BYTES) return;
    file.written += writeSync(file.descriptor, `${line}\n`);
  }

  close(): void {
    for (const { descriptor } of this.#files.values()) closeSync(descriptor);
    this.#files.clear();
  }
}
