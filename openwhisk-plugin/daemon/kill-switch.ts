import { type FSWatcher, lstatSync, rmSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Cancel, millis, type Timers } from '../../config/index.js';
import { HookLock, nameProcess } from '../host/lock/index.js';

/** Sources that turn the kill switch on and off, each on its own. */
export type KillSource = 'file' | 'signal' | 'service' | 'kv';

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

/** By this link the hook confirms that it holds the kill switch: the file alone holds nothing. */
const confirmationOf = (path: string): string => `${path}.held`;

/** The process of the hook that holds the kill switch because of its file; null: none. */
export const killFileHolder = (path: string): number | null =>
  HookLock.holder(confirmationOf(path));

export interface KillSwitchListener {
  /** The first source has it on, or the last one no longer. */
  readonly changed: (killed: boolean, source: KillSource) => void;
  /** The file can no longer be looked for. */
  readonly unreadable: (error: Error) => void;
}

/** The kill switch, which needs no NATS. User limits apply while any source has it on. */
export class KillSwitch {
  readonly #held = new Set<KillSource>();
  #listener: KillSwitchListener | null = null;
  #watcher: FSWatcher | null = null;
  #cancel: Cancel | null = null;
  #path = '';
  #isUnreadable = false;
  #isConfirmed = false;
  #closed = false;

  get killed(): boolean {
    return this.#held.size > 0;
  }

  sources(): readonly KillSource[] {
    return [...this.#held];
  }

  set(source: KillSource, held: boolean): void {
    if (this.#closed || held === this.#held.has(source)) return;
    const before = this.killed;
    if (held) this.#held.add(source);
    else this.#held.delete(source);
    if (before !== this.killed) this.#listener?.changed(this.killed, source);
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
    this.#confirm(false);
  }

  #check(): void {
    if (this.#closed) return;
    const file = killFile(this.#path);
    const isUnreadable = file instanceof Error;
    if (isUnreadable && !this.#isUnreadable) this.#listener?.unreadable(file);
    this.#isUnreadable = isUnreadable;
    this.set('file', file !== 'unset');
    this.#confirm(file !== 'unset');
  }

  /** A folder that cannot be written now is tried again. */
  #confirm(held: boolean): void {
    if (held === this.#isConfirmed) return;
    const path = confirmationOf(this.#path);
    try {
      if (held) nameProcess(path);
      else rmSync(path, { force: true });
      this.#isConfirmed = held;
    } catch {
      // Without it `gleaner restore --hold` reports that the hook does not confirm.
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }
}
