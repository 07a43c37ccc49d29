import { dirname, join } from 'node:path';
import { Burst } from './burst.js';
import { ControlFile, UNLIMITED, UNREADABLE, type WriteError } from './control-file.js';
import type { LimitFiles, MemoryPaths } from './limit-files.js';
import { type MemoryGuarantees, memoryCeiling } from './memory-ceiling.js';

/** cgroup v1: cpu and memory may be apart; either directory may be missing. */
export class CgroupV1Files implements LimitFiles {
  readonly version = 1;
  readonly period: number;
  readonly #cpuDirectory: string;
  readonly memoryDirectory: string;
  readonly #shares: ControlFile | null;
  readonly #quota: ControlFile | null;
  readonly #burst: Burst | null;
  readonly #memory: ControlFile | null;
  readonly #memoryAndSwap: ControlFile | null;

  constructor(cpuDirectory: string | null, memoryDirectory: string | null, userPeriod: number) {
    this.#cpuDirectory = cpuDirectory ?? '';
    this.memoryDirectory = memoryDirectory ?? '';
    const cpu = (name: string): ControlFile | null =>
      cpuDirectory === null ? null : ControlFile.open(join(cpuDirectory, name), 'r+');
    const memory = (name: string): ControlFile | null =>
      memoryDirectory === null ? null : ControlFile.open(join(memoryDirectory, name), 'r+');
    this.#shares = cpu('cpu.shares');
    this.#quota = cpu('cpu.cfs_quota_us');
    this.#burst = cpuDirectory === null ? null : new Burst(join(cpuDirectory, 'cpu.cfs_burst_us'));
    this.#memory = memory('memory.limit_in_bytes');
    this.#memoryAndSwap = memory('memory.memsw.limit_in_bytes');
    const period =
      cpuDirectory === null ? null : ControlFile.open(join(cpuDirectory, 'cpu.cfs_period_us'), 'r');
    const microseconds = period?.number() ?? UNREADABLE;
    period?.close();
    this.period = microseconds > 0 ? microseconds : userPeriod;
  }

  get paths(): MemoryPaths {
    const at = (name: string): string => join(this.memoryDirectory, name);
    return {
      version: 1,
      limit: at('memory.limit_in_bytes'),
      swap: this.#memoryAndSwap ? at('memory.memsw.limit_in_bytes') : null,
      usage: at('memory.usage_in_bytes'),
      stat: at('memory.stat'),
      events: at('memory.oom_control'),
    };
  }

  get hasWeight(): boolean {
    return this.#shares !== null;
  }

  get hasQuota(): boolean {
    return this.#quota !== null;
  }

  get hasMemory(): boolean {
    return this.#memory !== null;
  }

  weight(): number {
    return this.#shares?.number() ?? UNREADABLE;
  }

  writeWeight(weight: number): WriteError | null {
    return this.#shares?.write(weight) ?? null;
  }

  quota(): number {
    return this.#quota?.number() ?? UNREADABLE;
  }

  writeQuota(quota: number): WriteError | null {
    this.#burst?.lowerBurst(quota);
    const failed = this.#quota?.write(quota) ?? null;
    if (failed !== 'EINVAL' || !this.#burst?.lowerBurstAfterError(quota)) return failed;
    return this.#quota?.write(quota) ?? null;
  }

  ceiling(): number {
    let ceiling = UNLIMITED;
    for (let at = dirname(this.#cpuDirectory); at !== dirname(at); at = dirname(at)) {
      const quota = ControlFile.open(join(at, 'cpu.cfs_quota_us'), 'r');
      if (quota === null) break;
      const period = ControlFile.open(join(at, 'cpu.cfs_period_us'), 'r');
      const allowed = (quota.number() / Math.max(1, period?.number() ?? 1)) * this.period;
      if (allowed > 0) ceiling = Math.min(ceiling, allowed);
      quota.close();
      period?.close();
    }
    return Math.floor(ceiling);
  }

  memoryCeiling(guarantees: MemoryGuarantees): number {
    return memoryCeiling(this.memoryDirectory, 1, guarantees);
  }

  memory(): number {
    return this.#memory?.number() ?? UNREADABLE;
  }

  swap(): number {
    if (!this.#memoryAndSwap) return 0;
    const both = this.#memoryAndSwap.number();
    if (both === UNREADABLE || both === UNLIMITED) return both;
    return both - this.memory();
  }

  raise(memory: number, swap: number): WriteError | null {
    return this.writeSwap(memory, swap) ?? this.#memory?.write(memory) ?? null;
  }

  writeSwap(memory: number, swap: number): WriteError | null {
    return this.#memoryAndSwap?.write(memory + swap) ?? null;
  }

  protect(): 'unsupported' {
    return 'unsupported';
  }

  protection(): number {
    return 0;
  }

  close(): void {
    this.#shares?.close();
    this.#quota?.close();
    this.#burst?.close();
    this.#memory?.close();
    this.#memoryAndSwap?.close();
  }
}
