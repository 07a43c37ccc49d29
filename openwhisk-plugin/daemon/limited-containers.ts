import { closeSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type RestoreReport, restoreAll, unrestored } from '../host/cgroup/index.js';
import type { ContainerInfo, Platform } from '../host/ports/index.js';

/** Added lines after which the file is rewritten without the containers that ended. */
const LINES = 4096;
/** Docker's and containerd's identifiers, and no line that a full disk cut. */
const ID = /^[\w.-]{12,128}$/;

/** Ids in the file; none without a file. Throws the file system's error. */
export function readLimitedContainers(path: string): Set<string> {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return new Set(text.split('\n').filter((line) => ID.test(line)));
}

/**
 * The containers whose limits were changed, by id in a file, so that a restore without the hook
 * finds them under any name and any `hook.containerPrefix`. Written once per container.
 */
export class LimitedContainers {
  readonly #path: string;
  readonly #failed: (error: unknown) => void;
  readonly #ids: Set<string>;
  #file: number | null = null;
  #lines = 0;

  /** @param failed a restore without the hook finds these containers by their names only */
  constructor(path: string, failed: (error: unknown) => void) {
    this.#path = path;
    this.#failed = failed;
    this.#ids = this.#try(() => readLimitedContainers(path)) ?? new Set();
  }

  /** Ids of this hook, and of earlier ones until they are removed. */
  ids(): string[] {
    return [...this.#ids];
  }

  add(id: string): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    this.#try(() => {
      if (this.#file === null || this.#lines >= LINES) this.#rewrite();
      // The empty line ends one that a full disk cut.
      else writeFileSync(this.#file, `\n${id}\n`);
      this.#lines++;
    });
  }

  /** The container ended, or has its user limits. */
  remove(id: string): void {
    this.#ids.delete(id);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #rewrite(): void {
    const next = `${this.#path}.new`;
    const file = openSync(next, 'w', 0o600);
    try {
      writeFileSync(file, [...this.#ids, ''].join('\n'));
      renameSync(next, this.#path);
    } catch (error) {
      closeSync(file);
      throw error;
    }
    this.close();
    this.#file = file;
    this.#lines = 0;
  }

  #try<T>(work: () => T): T | null {
    try {
      return work();
    } catch (error) {
      this.#failed(error);
      return null;
    }
  }
}

/**
 * Restores containers that an earlier hook limited and this one does not manage, such as renamed
 * ones. Rejects if the engine does not answer.
 */
export async function restoreUnmanaged(
  limited: LimitedContainers,
  isManaged: (id: string) => boolean,
  { engine, limits: writer }: Platform,
): Promise<RestoreReport> {
  const containers: ContainerInfo[] = [];
  const unreadable: string[] = [];
  const inspect = async (id: string): Promise<ContainerInfo | 'unreadable' | null> =>
    (await engine.inspect?.(id)) ?? null;
  const ids = limited.ids().filter((id) => !isManaged(id));
  for (const id of ids) {
    const info = await inspect(id);
    if (info === 'unreadable') unreadable.push(id);
    else if (info !== null) containers.push(info);
  }
  const list = async () => ({ containers, unreadable, unlisted: 0 });
  const report = await restoreAll({ engine: { list, inspect }, writer });
  const left = new Set(unrestored(report).map(({ id }) => id));
  for (const id of ids) if (!left.has(id)) limited.remove(id);
  return report;
}
