import { readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  decodeMode,
  encodeMessage,
  functionOfModeKey,
  MODE_GLOBAL,
  type ModeValue,
} from '../../broker/messages/index.js';
import { type Cancel, millis, type Timers } from '../../config/index.js';
import { withPlainFile } from './plain-file.js';

/** By key of the bucket `gleaner_mode`; null: a value that cannot be read. */
type Values = readonly (readonly [key: string, value: ModeValue | null])[];

/** A value that cannot be read. */
const UNREADABLE = new Uint8Array();
/** What a damaged file counts as: it may have held every function. */
const DAMAGED: Values = [[MODE_GLOBAL, null]];
const RETRY_MILLIS = 30_000;

/**
 * The stored modes, pauses and kill switch as last read from NATS, in a file, so that a hook that
 * starts while NATS is away does not forget them. Values without effect are left out.
 */
export class RememberedModes {
  readonly #path: string;
  readonly #timers: Timers;
  readonly #failed: (what: 'read' | 'write', error: unknown) => void;
  readonly #values: Map<string, ModeValue | null>;
  /** The file's text; null: it cannot be read. */
  #written: string | null = null;
  #writing: Promise<void> | null = null;
  #cancelRetry: Cancel | null = null;

  /** @param failed the file cannot be read, which holds the kill switch, or not be written */
  constructor(
    path: string,
    timers: Timers,
    failed: (what: 'read' | 'write', error: unknown) => void,
  ) {
    this.#path = path;
    this.#timers = timers;
    this.#failed = failed;
    this.#values = new Map(this.#read());
  }

  /** As the bucket would deliver them. */
  entries(): (readonly [key: string, value: Uint8Array])[] {
    return [...this.#values].map(([key, value]) => [
      key,
      value ? encodeMessage(value) : UNREADABLE,
    ]);
  }

  /** Null: a value that cannot be read. Undefined: there is none, or one without effect. */
  get(key: string): ModeValue | null | undefined {
    return this.#values.get(key);
  }

  /** Keys of the values that hold the kill switch or a pause. */
  holding(): readonly string[] {
    const holds = (value: ModeValue | null): boolean =>
      value === null || value.kill || value.paused;
    return [...this.#values].flatMap(([key, value]) => (holds(value) ? [key] : []));
  }

  /** Undefined: there is no value. The file follows; a failed write is tried again. */
  set(key: string, value: ModeValue | null | undefined): void {
    if (value === undefined || (value && !value.kill && !value.paused && !value.mode))
      this.#values.delete(key);
    else this.#values.set(key, value);
    this.#writing ??= this.#write();
  }

  /** Resolves when the file has the newest values, or a last try has failed. */
  async stop(): Promise<void> {
    await this.#writing;
    await this.#write();
    this.#cancelRetry?.();
  }

  #read(): Values {
    try {
      const text = withPlainFile(this.#path, (fd) => readFileSync(fd, 'utf8'));
      const values: unknown = JSON.parse(text);
      if (typeof values !== 'object' || values === null || Array.isArray(values))
        throw new Error('not a JSON object');
      const read = Object.entries(values).map(
        ([key, value]) => [key, readValue(key, value)] as const,
      );
      this.#written = text;
      return read;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        this.#written = '{}';
        return [];
      }
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
      this.#cancelRetry?.();
      this.#cancelRetry = this.#timers.after(millis(RETRY_MILLIS), () => {
        this.#writing ??= this.#write();
      });
    } finally {
      this.#writing = null;
    }
  }

  #text(): string {
    return JSON.stringify(Object.fromEntries(this.#values));
  }
}

/** Null: it cannot be read. Throws if it cannot be read whose it is either. */
function readValue(key: string, value: unknown): ModeValue | null {
  if (value === null) return null;
  const decoded = decodeMode(encodeMessage(value as object));
  if (decoded.ok) return decoded.message;
  if (functionOfModeKey(key) === null) throw new Error(decoded.detail);
  return null;
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
