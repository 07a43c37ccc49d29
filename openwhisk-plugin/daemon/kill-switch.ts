import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Cancel, millis, type Timers } from '../../config/index.js';

/**
 * Who may stop Gleaner. Each source is held and let go on its own; while any holds, user limits
 * stand.
 */
export type KillSource = 'file' | 'signal' | 'service' | 'kv';

/** How often the file is looked at, beside being watched: a watch can be lost with its folder. */
const POLL_MILLIS = 200;

/**
 * The kill switch: restores first and asks nobody, so it works with NATS down (design §6).
 * The listener is called with true when the first source holds, with false when the last lets go.
 */
export class KillSwitch {
  readonly #held = new Set<KillSource>();
  readonly #changed: (killed: boolean, source: KillSource) => void;
  #watcher: FSWatcher | null = null;
  #cancel: Cancel | null = null;
  #path = '';
  #closed = false;

  constructor(changed: (killed: boolean, source: KillSource) => void) {
    this.#changed = changed;
  }

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
    if (before !== this.killed) this.#changed(this.killed, source);
  }

  toggle(source: KillSource): void {
    this.set(source, !this.#held.has(source));
  }

  /** Follows a file: while it exists, the switch is on. Looks once before it returns. */
  follow(path: string, timers: Timers): void {
    this.#path = path;
    this.#check();
    this.#cancel = timers.every(millis(POLL_MILLIS), () => this.#check());
    try {
      this.#watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
        if (name === null || name === basename(path)) this.#check();
      });
      this.#watcher.on('error', () => this.#unwatch());
    } catch {
      // No such folder yet: the poll sees the file all the same.
    }
  }

  /** From now on nothing changes any more. */
  close(): void {
    this.#closed = true;
    this.#cancel?.();
    this.#cancel = null;
    this.#unwatch();
  }

  #check(): void {
    this.set('file', statSync(this.#path, { throwIfNoEntry: false }) !== undefined);
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }
}
