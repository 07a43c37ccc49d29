import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const file = z.object({ about: z.string(), result: z.unknown() });

/** Pieces of a study as files of a folder: a study that was stopped goes on where it was. */
export class PieceFiles {
  readonly #folder: string;
  readonly #about: string;

  /** `about`: all that a piece's result depends on; a piece of something else is not there. */
  constructor(folder: string, about: unknown) {
    this.#folder = folder;
    this.#about = JSON.stringify(about);
    mkdirSync(folder, { recursive: true });
  }

  has(key: string): boolean {
    return this.read(key) !== undefined;
  }

  save(key: string, result: unknown): void {
    const path = this.#path(key);
    writeFileSync(`${path}.new`, JSON.stringify({ about: this.#about, result }));
    renameSync(`${path}.new`, path);
  }

  /** Undefined: there is none, it is of another study, or it is damaged. */
  read(key: string): unknown {
    const path = this.#path(key);
    if (!existsSync(path)) return undefined;
    const piece = file.safeParse(parsed(readFileSync(path, 'utf8')));
    return piece.success && piece.data.about === this.#about ? piece.data.result : undefined;
  }

  #path(key: string): string {
    return join(this.#folder, `${key}.json`);
  }
}

/** Undefined if it is no JSON: a power failure leaves an empty file. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
