import { dirname, join } from 'node:path';
import { Burst } from './burst.js';
import { ControlFile, UNLIMITED, UNREADABLE, type WriteError } from './control-file.js';
import type { LimitFiles, MemoryPaths } from './limit-files.js';
import { type MemoryGuarantees, memoryCeiling } from './memory-ceiling.js';

/**
 * cgroup v2: one directory, whose files are there only where the controller is delegated.
 */
export class CgroupV2Files implements LimitFiles {
  readonly version = 2;
  readonly #directory: string;
  readonly memoryDirectory: string;
  readonly #weight: ControlFile | null;
  readonly #max: ControlFile | null;
  readonly #burst: Burst | null;
  readonly #memory: ControlFile | null;
  readonly #swap: ControlFile | null;
  readonly #low: ControlFile | null;
  readonly #userPeriod: number;

  constructor(directory: string, hasCpu: boolean, hasMemory: boolean, userPeriod: number) {
    this.#directory = directory;
    this.memoryDirectory = hasMemory ? directory : '';
    this.#userPeriod = userPeriod;
    const open = (requested: boolean, name: string): ControlFile | null =>
      requested ? ControlFile.open(join(directory, name), 'r+') : null;
    this.#weight = open(hasCpu, 'cpu.weight');
    this.#max = open(hasCpu, 'cpu.max');
    this.#burst = hasCpu ? new Burst(join(directory, 'cpu.max.burst')) : null;
    this.#memory = open(hasMemory, 'memory.max');
    this.#swap = open(hasMemory, 'memory.swap.max');
    this.#low = open(hasMemory, 'memory.low');
  }

  get paths(): MemoryPaths {
    const at = (name: string): string => join(this.#directory, name);
    return {
      version: 2,
      limit: at('memory.max'),
      swap: this.#swap ? at('memory.swap.max') : null,
      usage: at('memory.current'),
      stat: at('memory.stat'),
      events: at('memory.events'),
    };
  }

  get hasWeight(): boolean {
    return this.#weight !== null;
  }

  get hasQuota(): boolean {
    return this.#max !== null;
  }

  get hasMemory(): boolean {
    return this.#memory !== null;
  }

  /** As in `cpu.max`: the ratio is kept for any period. */
  get period(): number {
    const period = this.#max?.number(1) ?? UNREADABLE;
    return period > 0 ? period : this.#userPeriod;
  }

  weight(): number {
    return this.#weight?.number() ?? UNREADABLE;
  }

  writeWeight(weight: number): WriteError | null {
    return this.#weight?.write(weight) ?? null;
  }

  quota(): number {
    return this.#max?.number() ?? UNREADABLE;
  }

  writeQuota(quota: number): WriteError | null {
    const period = this.period;
    this.#burst?.lowerBurst(quota);
    const failed = this.#max?.write(quota, 'max', period) ?? null;
    if (failed !== 'EINVAL' || !this.#burst?.lowerBurstAfterError(quota)) return failed;
    return this.#max?.write(quota, 'max', period) ?? null;
  }

  ceiling(): number {
    let ceiling = UNLIMITED;
    for (let at = dirname(this.#directory); at !== dirname(at); at = dirname(at)) {
      const max = ControlFile.open(join(at, 'cpu.max'), 'r');
      if (max === null) break;
      const allowed = (max.number() / Math.max(1, max.number(1))) * this.period;
      if (allowed > 0) ceiling = Math.min(ceiling, allowed);
      max.close();
    }
    return Math.floor(ceiling);
  }

  memoryCeiling(guarantees: MemoryGuarantees): number {
    return memoryCeiling(this.memoryDirectory, 2, guarantees);
  }

  memory(): number {
    return this.#memory?.number() ?? UNREADABLE;
  }

  swap(): number {
    return this.#swap?.number() ?? 0;
  }

  raise(memory: number, swap: number): WriteError | null {
    return this.#memory?.write(memory, 'max') ?? this.writeSwap(memory, swap);
  }

  writeSwap(_memory: number, swap: number): WriteError | null {
    return this.#swap?.write(swap, 'max') ?? null;
  }

  protect(amount: number): WriteError | null | 'unsupported' {
    return this.#low ? this.#low.write(amount, 'max') : 'unsupported';
  }

  protection(): number {
    return this.#low?.number() ?? 0;
  }

  close(): void {
    this.#weight?.close();
    this.#max?.close();
    this.#burst?.close();
    this.#memory?.close();
    this.#swap?.close();
    this.#low?.close();
  }
}
