import { readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { encodeMessage, MODE_GLOBAL, type ModeValue } from '../../broker/messages/index.js';

/** By key of the bucket `gleaner_mode`; null: a value that cannot be read. */
type Values = Readonly<Record<string, ModeValue | null>>;

/** A value that cannot be read. */
const UNREADABLE = new Uint8Array();
/** What a damaged file counts as: it may have held every function. */
const DAMAGED: Values = { [MODE_GLOBAL]: null };

/**
 * The stored modes, pauses and kill switch as last read from NATS, in a file, so that a hook that
 * starts while NATS is away does not forget them. Values without effect are left out.
 */
export class RememberedModes {
  readonly #path: string;
  readonly #failed: (what: 'read' | 'write', error: unknown) => void;
  readonly #values: Map<string, ModeValue | null>;
  /** The file's text. */
  #written = '{}';
  #writing: Promise<void> | null = null;

  /** @param failed the file cannot be read, which holds the kill switch, or not be written */
  constructor(path: string, failed: (what: 'read' | 'write', error: unknown) => void) {
    this.#path = path;
    this.#failed = failed;
    this.#values = new Map(Object.entries(this.#read()));
  }

  /** As the bucket would deliver them. */
  entries(): (readonly [key: string, value: Uint8Array])[] {
    return [...this.#values].map(([key, value]) => [
      key,
      value ? encodeMessage(value) : UNREADABLE,
    ]);
  }

  /** Undefined: there is no value. The file follows. */
  set(key: string, value: ModeValue | null | undefined): void {
    if (value === undefined || (value && !value.kill && !value.paused && !value.mode))
      this.#values.delete(key);
    else this.#values.set(key, value);
    this.#writing ??= this.#write();
  }

  /** Resolves when the file has the newest values, or could not be written. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  #read(): Values {
    try {
      this.#written = readFileSync(this.#path, 'utf8');
      const values: unknown = JSON.parse(this.#written);
      if (typeof values === 'object' && values !== null && !Array.isArray(values))
        return values as Values;
      throw new Error('not a JSON object');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      this.#failed('read', error);
      return DAMAGED;
    }
  }

  async #write(): Promise<void> {
    // The values of one delivery are written together.
    await null;
    try {
      for (let text = this.#text(); text !== this.#written; text = this.#text()) {
        await writeDurably(this.#path, text);
        this.#written = text;
      }
    } catch (error) {
      this.#failed('write', error);
    } finally {
      this.#writing = null;
    }
  }

  #text(): string {
    return JSON.stringify(Object.fromEntries(this.#values));
  }
}

/** Under another name, flushed to the disk, then renamed. */
async function writeDurably(path: string, text: string): Promise<void> {
  const next = `${path}.new`;
  const file = await open(next, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(next, path);
  const folder = await open(dirname(path));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
