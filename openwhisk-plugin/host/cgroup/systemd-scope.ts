import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from './cgroup-mounts.js';

export interface ScopeProperty {
  readonly name: 'MemoryMax' | 'MemorySwapMax' | 'MemoryLow' | 'MemoryLimit';
  /** Infinity = no limit. */
  readonly bytes: number;
}

/** Runtime properties of a systemd unit. */
export interface ScopeProperties {
  /** Resolves when systemd has written the unit's cgroup files. */
  set(unit: string, properties: readonly ScopeProperty[]): Promise<void>;
  close?(): void;
}

export interface ScopeListener {
  failed(error: unknown): void;
  /** systemd has written all files of the scope, also those of unchanged properties. */
  applied(): void;
}

/** Where systemd keeps runtime properties of units; the first one found is in force. */
const TRANSIENT = 'run/systemd/transient';
const RECORDS = ['run/systemd/system.control', TRANSIENT] as const;

/**
 * What systemd must know of a container's cgroup. At each daemon-reload and each change of a
 * property it writes every limit of the unit, and one that it does not know as "no limit"
 * (https://github.com/opencontainers/cgroups/issues/74). So memory, swap and protection are set
 * together. Quota and weight change twice per activation; when systemd resets them, the listener
 * writes them again.
 */
export class SystemdScope {
  readonly #unit: string;
  readonly #version: 1 | 2;
  readonly #properties: ScopeProperties;
  readonly #root: string;
  readonly #settling: Set<Promise<void>>;
  #running: Promise<void> = Promise.resolve();
  #busy = false;
  #next: readonly ScopeProperty[] | null = null;

  /** @param settling operations in progress, for callers that wait for all scopes */
  constructor(
    unit: string,
    version: 1 | 2,
    properties: ScopeProperties,
    root: string,
    settling: Set<Promise<void>> = new Set(),
  ) {
    this.#unit = unit;
    this.#version = version;
    this.#properties = properties;
    this.#root = root;
    this.#settling = settling;
  }

  /** systemd has not written all its properties yet, so files may still change. */
  get isBusy(): boolean {
    return this.#busy;
  }

  async idle(): Promise<void> {
    while (this.#busy) await this.#running;
  }

  /** Bytes; Infinity = none. On v1 systemd has no swap limit and no protection. The newest wins. */
  setMemory(memory: number, swap: number, low: number, listener: ScopeListener): void {
    this.#next =
      this.#version === 1
        ? [{ name: 'MemoryLimit', bytes: memory }]
        : [
            { name: 'MemoryMax', bytes: memory },
            { name: 'MemorySwapMax', bytes: swap },
            { name: 'MemoryLow', bytes: low },
          ];
    if (this.#busy) return;
    this.#busy = true;
    const running = this.#drain(listener);
    this.#running = running;
    this.#settling.add(running);
    void running.then(() => this.#settling.delete(running));
  }

  /** A property set at run time, also by the container runtime; null: none, or unreadable. */
  recorded(name: ScopeProperty['name'] | 'CPUWeight'): number | null {
    const dropIns = RECORDS.map((folder) => join(folder, `${this.#unit}.d`, `50-${name}.conf`));
    for (const path of [...dropIns, join(TRANSIENT, this.#unit)]) {
      const text = readText(join(this.#root, path)) ?? '';
      const value = new RegExp(`^${name}=(\\d+|infinity)$`, 'm').exec(text)?.[1];
      if (value !== undefined)
        return value === 'infinity' ? Number.POSITIVE_INFINITY : Number(value);
    }
    return null;
  }

  /** Whether {@link recorded} can be believed when it finds nothing. */
  get hasRecord(): boolean {
    return existsSync(join(this.#root, TRANSIENT, this.#unit));
  }

  async #drain(listener: ScopeListener): Promise<void> {
    while (this.#next !== null) {
      const properties = this.#next;
      this.#next = null;
      try {
        await this.#properties.set(this.#unit, properties);
      } catch (error) {
        listener.failed(error);
      }
      listener.applied();
    }
    this.#busy = false;
  }
}
