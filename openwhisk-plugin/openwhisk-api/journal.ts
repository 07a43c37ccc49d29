import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errorClass, messageOf } from '../../config/index.js';
import { HookLock, HookLockedError } from '../host/lock/index.js';
import { entrySchema, type JournalEntry } from './journal-entry.js';
import { summarized } from './journal-summary.js';

/** A journal of this many lines is summarized if at most this share of them is still needed. */
const LINES_MAX = 5_000;
const MIN_LINES = 0.8;

class JournalError extends errorClass('GLN_ACTIONS_JOURNAL') {}

export class ActionsLockedError extends errorClass('GLN_ACTIONS_LOCKED') {}

/**
 * The changes in OpenWhisk, written and synced before they are sent, so that every change can be
 * undone after any end of this process. Lines of JSON, appended; only the last can be incomplete,
 * and then its change was never sent.
 */
export class Journal {
  readonly #path: string;
  readonly #fd: number;
  readonly #lock: HookLock;
  readonly #entries: JournalEntry[];

  private constructor(path: string, fd: number, lock: HookLock, entries: JournalEntry[]) {
    this.#path = path;
    this.#fd = fd;
    this.#lock = lock;
    this.#entries = entries;
  }

  /** Rejects with `GLN_ACTIONS_LOCKED` while another process has it, or `GLN_ACTIONS_JOURNAL`. */
  static async open(path: string): Promise<Journal> {
    let lock: HookLock;
    try {
      lock = await HookLock.acquire(`${path}.lock`);
    } catch (error) {
      if (error instanceof HookLockedError) throw new ActionsLockedError(path);
      throw new JournalError(path, messageOf(error), error);
    }
    let fd: number | undefined;
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      forget(path, Journal.read(path));
      fd = openSync(path, 'a', 0o600);
      syncFolder(dirname(path));
      const bytes = readFileSync(path);
      const entries = parse(path, bytes.toString());
      ftruncateSync(fd, bytes.lastIndexOf('\n') + 1);
      fsyncSync(fd);
      return new Journal(path, fd, lock, entries);
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      lock.release();
      throw error instanceof JournalError ? error : new JournalError(path, messageOf(error), error);
    }
  }

  /** To look only: takes no lock, makes no file. */
  static read(path: string): readonly JournalEntry[] {
    try {
      return parse(path, readFileSync(path, 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error instanceof JournalError ? error : new JournalError(path, messageOf(error), error);
    }
  }

  get entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  /** Returns once the line is on the disk; throws `GLN_ACTIONS_JOURNAL` and leaves it unchanged. */
  append(entry: JournalEntry): void {
    let size: number | undefined;
    try {
      size = fstatSync(this.#fd).size;
      writeAll(this.#fd, `${JSON.stringify(entry)}\n`);
      fsyncSync(this.#fd);
    } catch (error) {
      // An incomplete line would make the journal unreadable once others follow it.
      if (size !== undefined) cutTo(this.#fd, size);
      throw new JournalError(this.#path, messageOf(error), error);
    }
    this.#entries.push(entry);
  }

  close(): void {
    closeSync(this.#fd);
    this.#lock.release();
  }
}

/** Drops lines that are no longer needed; the file is replaced whole or not at all. */
function forget(path: string, entries: readonly JournalEntry[]): void {
  if (entries.length < LINES_MAX) return;
  const left = summarized(entries);
  // Not at each opening: there is little to leave out.
  if (left.length > MIN_LINES * entries.length) return;
  const draft = `${path}.new`;
  const fd = openSync(draft, 'w', 0o600);
  try {
    writeAll(fd, left.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(draft, path);
}

function writeAll(fd: number, text: string): void {
  const buffer = Buffer.from(text);
  for (let at = 0; at < buffer.length; ) at += writeSync(fd, buffer, at);
}

function cutTo(fd: number, size: number): void {
  try {
    ftruncateSync(fd, size);
  } catch {
    // The write of the line reports its own failure.
  }
}

/** A new file's name is on the disk only once its folder is. */
function syncFolder(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function parse(path: string, text: string): JournalEntry[] {
  const entries: JournalEntry[] = [];
  // An incomplete last line was cut by the end of a process; its change was not sent yet.
  for (const [i, line] of text.split('\n').slice(0, -1).entries()) {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      value = null;
    }
    const parsed = entrySchema.safeParse(value);
    if (!parsed.success)
      throw new JournalError(path, `line ${i + 1} is of another version of Gleaner, or damaged`);
    entries.push(parsed.data);
  }
  return entries;
}
