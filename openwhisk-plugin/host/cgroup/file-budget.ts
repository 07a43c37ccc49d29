import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files of one sample beside those that are open as long as the container lives. */
const SAMPLED = 6;
/** Everything else of the process: sockets, logs, pipes, libraries. */
const OWN = 512;
/** Containers that can always be sampled without opening a file. */
const MIN = 64;
const UNKNOWN = 65_536;

/**
 * Limits how many containers keep the files of their samples open: the least recently sampled ones
 * close theirs.
 */
export class FileBudget {
  readonly #limit: number;
  #kept = 0;
  /** In the order of their last use. */
  readonly #open = new Set<{ closeFiles(): void }>();

  /** `limit`: files that this process may have open. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** From /proc below `root`; Node has raised the soft limit to the hard one when it started. */
  static ofProcess(root: string): FileBudget {
    try {
      const text = readFileSync(join(root, 'proc/self/limits'), 'utf8');
      const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1];
      return new FileBudget(soft === undefined ? UNKNOWN : Number(soft));
    } catch {
      return new FileBudget(UNKNOWN);
    }
  }

  get most(): number {
    return Math.max(MIN, Math.floor((this.#limit - OWN - this.#kept) / SAMPLED));
  }

  get inUse(): number {
    return this.#open.size;
  }

  /** A container, and the number of files that stay open as long as it lives. */
  opened(kept: number): void {
    this.#kept += kept;
    this.#shrink();
  }

  closed(user: { closeFiles(): void }, kept: number): void {
    this.#kept -= kept;
    this.#open.delete(user);
  }

  /** Before its files are read, and so perhaps opened. */
  use(user: { closeFiles(): void }): void {
    this.#open.delete(user);
    this.#open.add(user);
    this.#shrink();
  }

  #shrink(): void {
    const { most } = this;
    for (const each of this.#open) {
      if (this.#open.size <= most) return;
      this.#open.delete(each);
      each.closeFiles();
    }
  }
}
