import { type FSWatcher, lstatSync, readSync, rmSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { ModeAuthor } from '../../broker/index.js';
import { type Cancel, millis, type Timers } from '../../config/index.js';
import { namedProcess, nameProcess } from '../host/lock/index.js';
import { withPlainFile } from './plain-file.js';

/** Author of a change, and the author's reason. */
export type ChangedBy = Required<ModeAuthor>;

/** Sources that turn the kill switch on and off, each on its own. */
type KillSource = 'file' | 'signal' | 'service' | 'kv' | 'kv_unreadable';

export interface KillSwitchChange {
  readonly source: KillSource;
  /** Whether this source holds the switch now. */
  readonly held: boolean;
  /** All that hold it now. */
  readonly sources: readonly KillSource[];
  /** The first source came, or the last one went. */
  readonly isSwitched: boolean;
  /** Absent: the signal names none, and a file with no note. Without author: the note of a file. */
  readonly by?: ChangedBy | undefined;
}

/** Poll interval beside the file watch, which ends if its folder is removed. */
const POLL_MILLIS = 200;

/** Whether the kill switch's file exists, a dangling link included, or why that is not known. */
export function killFile(path: string): 'set' | 'unset' | Error {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? 'unset' : 'set';
  } catch (error) {
    return error as Error;
  }
}

/** `gleaner restore --release` leaves a note here while it waits for the hook. */
export const releaseNote = (path: string): string => `${path}.released`;

/** Time, command and author, and a reason of 512 characters of up to four bytes. */
const NOTE_BYTES_MAX = 4 * 512 + 256;

/** The first line of a file: who set or released the switch, when and why; undefined: none. */
function noteIn(path: string): ChangedBy | undefined {
  try {
    const data = Buffer.alloc(NOTE_BYTES_MAX);
    const size = withPlainFile(path, (fd) => readSync(fd, data));
    const [line = ''] = data.toString('utf8', 0, size).split('\n');
    return line === '' ? undefined : { author: '', reason: line };
  } catch {
    return undefined;
  }
}

/** By this link the hook confirms which sources hold the switch: the file alone holds nothing. */
const confirmationOf = (path: string): string => `${path}.held`;

/** The hook that holds the kill switch with this file, and why; null: none holds it. */
export function killSwitchHolder(
  path: string,
): { readonly pid: number; readonly sources: readonly string[] } | null {
  const holder = namedProcess(confirmationOf(path));
  // Earlier releases confirm the file only, without a note.
  return holder && { pid: holder.pid, sources: (holder.note || 'file').split(',') };
}

export interface KillSwitchListener {
  /** A source begins to hold it, or no longer does. */
  readonly changed: (change: KillSwitchChange) => void;
  /** The file can no longer be looked for. */
  readonly unreadable: (error: Error) => void;
}

/** The kill switch, which needs no NATS. User limits apply while any source holds it. */
export class KillSwitch {
  readonly #held = new Map<KillSource, ChangedBy | undefined>();
  #listener: KillSwitchListener | null = null;
  #watcher: FSWatcher | null = null;
  #cancel: Cancel | null = null;
  #path = '';
  #isUnreadable = false;
  /** The note of the confirmation; empty: there is none. */
  #confirmed: string | null = '';
  #closed = false;

  get killed(): boolean {
    return this.#held.size > 0;
  }

  sources(): readonly KillSource[] {
    return [...this.#held.keys()];
  }

  /** Who set it, and why, by source, as far as that is known. */
  reasons(): readonly (ChangedBy & { readonly source: KillSource })[] {
    return [...this.#held].flatMap(([source, by]) => (by ? [{ source, ...by }] : []));
  }

  set(source: KillSource, held: boolean, by?: ChangedBy): void {
    if (this.#closed || held === this.#held.has(source)) return;
    const before = this.killed;
    if (held) this.#held.set(source, by);
    else this.#held.delete(source);
    const isSwitched = before !== this.killed;
    this.#listener?.changed({ source, held, sources: this.sources(), isSwitched, by });
    this.#confirm(this.sources());
  }

  toggle(source: KillSource): void {
    this.set(source, !this.#held.has(source));
  }

  /**
   * From now on the switch is on while the file exists or cannot be looked for. Checks once before
   * it returns.
   */
  follow(path: string, timers: Timers, listener: KillSwitchListener): void {
    this.#path = path;
    this.#listener = listener;
    this.#check();
    this.#cancel = timers.every(millis(POLL_MILLIS), () => this.#check());
    try {
      this.#watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
        if (name === null || name === basename(path)) this.#check();
      });
      this.#watcher.on('error', () => this.#unwatch());
    } catch {
      // The folder does not exist yet: polling finds the file.
    }
  }

  /** Ignores all later changes. */
  close(): void {
    this.#closed = true;
    this.#cancel?.();
    this.#cancel = null;
    this.#unwatch();
    this.#confirm([]);
  }

  #check(): void {
    if (this.#closed) return;
    const file = killFile(this.#path);
    const isUnreadable = file instanceof Error;
    if (isUnreadable && !this.#isUnreadable) this.#listener?.unreadable(file);
    this.#isUnreadable = isUnreadable;
    const held = file !== 'unset';
    if (held !== this.#held.has('file'))
      this.set('file', held, noteIn(held ? this.#path : releaseNote(this.#path)));
    this.#confirm(this.sources());
  }

  /** A folder that cannot be written now is tried again. */
  #confirm(sources: readonly KillSource[]): void {
    const note = sources.join(',');
    if (note === this.#confirmed || this.#path === '') return;
    const path = confirmationOf(this.#path);
    try {
      if (note === '') rmSync(path, { force: true });
      else nameProcess(path, note);
      this.#confirmed = note;
    } catch {
      // Without it `gleaner restore` reports that the hook does not confirm. The old one may be
      // gone, so also the same note is written again.
      this.#confirmed = null;
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }
}
