import { dirname, join } from 'node:path';
import type { ControllerDirectory } from './cgroup-paths.js';
import { ControlFile, UNLIMITED, UNREADABLE, type WriteError } from './control-file.js';

export const CPU_FILES = {
  1: { weight: 'cpu.shares', quota: 'cpu.cfs_quota_us', burst: 'cpu.cfs_burst_us' },
  2: { weight: 'cpu.weight', quota: 'cpu.max', burst: 'cpu.max.burst' },
} as const;
/** v1 limits memory and swap together, v2 swap alone. Only v2 can protect memory. */
const MEMORY_FILES = {
  1: {
    limit: 'memory.limit_in_bytes',
    swap: 'memory.memsw.limit_in_bytes',
    low: null,
    usage: 'memory.usage_in_bytes',
    events: 'memory.oom_control',
  },
  2: {
    limit: 'memory.max',
    swap: 'memory.swap.max',
    low: 'memory.low',
    usage: 'memory.current',
    events: 'memory.events',
  },
} as const;
/** The text for "no limit". */
const NONE = { 1: '-1', 2: 'max' } as const;

/** The quota of a group and its period, us; null where the files are missing. */
function quotaOf(directory: string, version: 1 | 2): { quota: number; period: number } | null {
  const file = ControlFile.open(join(directory, CPU_FILES[version].quota), 'r');
  if (file === null) return null;
  const quota = file.number();
  const other = version === 1 ? ControlFile.open(join(directory, 'cpu.cfs_period_us'), 'r') : null;
  const period = version === 1 ? (other?.number() ?? UNREADABLE) : file.number(1);
  file.close();
  other?.close();
  return { quota, period };
}

/**
 * The CPU limits of one container in the kernel's units. Numbers: UNLIMITED for none, UNREADABLE
 * when the cgroup is gone. Weight and quota are separate, since kernels without
 * CONFIG_CFS_BANDWIDTH have weights and no quotas.
 */
export class CpuFiles {
  readonly version: 1 | 2;
  readonly directory: string;
  readonly #weight: ControlFile | null;
  readonly #quota: ControlFile | null;
  /** The kernel refuses a quota below its burst. Engines set none: open only if there is one. */
  #burst: ControlFile | null = null;
  readonly #firstPeriod: number;

  constructor({ directory, version }: ControllerDirectory, userPeriod: number) {
    this.version = version;
    this.directory = directory;
    this.#weight = ControlFile.open(join(directory, CPU_FILES[version].weight), 'r+');
    this.#quota = ControlFile.open(join(directory, CPU_FILES[version].quota), 'r+');
    const period = quotaOf(directory, version)?.period ?? UNREADABLE;
    this.#firstPeriod = period > 0 ? period : userPeriod;
    this.#openBurst();
  }

  get hasWeight(): boolean {
    return this.#weight !== null;
  }

  get hasQuota(): boolean {
    return this.#quota !== null;
  }

  /** us; never written. On v2 it can change with each quota that another program writes. */
  get period(): number {
    const period = this.version === 2 ? (this.#quota?.number(1) ?? UNREADABLE) : UNREADABLE;
    return period > 0 ? period : this.#firstPeriod;
  }

  /** v1 shares, v2 weight. */
  weight(): number {
    return this.#weight?.number() ?? UNREADABLE;
  }

  writeWeight(weight: number): WriteError | null {
    return this.#weight?.write(weight) ?? null;
  }

  /** us per period. */
  quota(): number {
    return this.#quota?.number() ?? UNREADABLE;
  }

  writeQuota(quota: number): WriteError | null {
    this.#lowerBurst(quota);
    const failed = this.#putQuota(quota);
    if (failed !== 'EINVAL' || this.#burst !== null) return failed;
    // A burst may have been set since the container was opened.
    this.#openBurst();
    return this.#lowerBurst(quota) ? this.#putQuota(quota) : failed;
  }

  /** Largest quota the groups above allow, us per period of this container. */
  ceiling(): number {
    let ceiling = UNLIMITED;
    for (let at = dirname(this.directory); at !== dirname(at); at = dirname(at)) {
      const group = quotaOf(at, this.version);
      if (group === null) break;
      // In this order, or rounding takes a microsecond from a quota that the groups share.
      const allowed = (group.quota * this.period) / Math.max(1, group.period);
      if (allowed > 0) ceiling = Math.min(ceiling, allowed);
    }
    return Math.floor(ceiling);
  }

  close(): void {
    for (const file of [this.#weight, this.#quota, this.#burst]) file?.close();
    this.#burst = null;
  }

  #putQuota(quota: number): WriteError | null {
    const period = this.version === 2 ? this.period : -1;
    return this.#quota?.write(quota, NONE[this.version], period) ?? null;
  }

  #openBurst(): void {
    const file = ControlFile.open(join(this.directory, CPU_FILES[this.version].burst), 'r+');
    if ((file?.number() ?? 0) > 0) this.#burst = file;
    else file?.close();
  }

  /** True if there was a higher burst. */
  #lowerBurst(quota: number): boolean {
    if (this.#burst === null || this.#burst.number() <= quota) return false;
    this.#burst.write(quota);
    return true;
  }
}

/** For the worker thread: paths, because a descriptor could be closed and reused meanwhile. */
export interface MemoryPaths {
  readonly version: 1 | 2;
  readonly limit: string;
  /** Null where the kernel does not account swap. */
  readonly swap: string | null;
  readonly usage: string;
  readonly stat: string;
  readonly events: string;
}

/** The memory limits of one container, bytes. Numbers as in {@link CpuFiles}. */
export class MemoryFiles {
  readonly version: 1 | 2;
  readonly directory: string;
  readonly #limit: ControlFile;
  readonly #swap: ControlFile | null;
  readonly #low: ControlFile | null;

  private constructor({ directory, version }: ControllerDirectory, limit: ControlFile) {
    const { swap, low } = MEMORY_FILES[version];
    this.version = version;
    this.directory = directory;
    this.#limit = limit;
    this.#swap = ControlFile.open(join(directory, swap), 'r+');
    this.#low = low && ControlFile.open(join(directory, low), 'r+');
  }

  /** Null where the kernel limits no memory. */
  static open(where: ControllerDirectory): MemoryFiles | null {
    const limit = ControlFile.open(join(where.directory, MEMORY_FILES[where.version].limit), 'r+');
    return limit && new MemoryFiles(where, limit);
  }

  limit(): number {
    return this.#limit.number();
  }

  /** Swap beyond the memory limit; 0 where swap is not accounted. */
  swap(): number {
    const found = this.#swap?.number() ?? 0;
    const isSum = this.version === 1 && this.#swap !== null;
    return isSum && found !== UNREADABLE && found !== UNLIMITED ? found - this.limit() : found;
  }

  /** Upwards: the wider limit first, so that v1's memory+swap is never below memory. */
  raise(limit: number, swap: number): WriteError | null {
    if (this.version === 1) return this.writeSwap(limit, swap) ?? this.#limit.write(limit);
    return this.#limit.write(limit, 'max') ?? this.writeSwap(limit, swap);
  }

  writeSwap(limit: number, swap: number): WriteError | null {
    return this.#swap?.write(this.version === 1 ? limit + swap : swap, NONE[this.version]) ?? null;
  }

  /** Writes `memory.low`. */
  protect(amount: number): WriteError | null | 'unsupported' {
    return this.#low ? this.#low.write(amount, 'max') : 'unsupported';
  }

  protection(): number {
    return this.#low?.number() ?? 0;
  }

  /** Created on demand, because few of thousands of containers ever lower their memory. */
  get paths(): MemoryPaths {
    const names = MEMORY_FILES[this.version];
    const at = (name: string): string => join(this.directory, name);
    return {
      version: this.version,
      limit: at(names.limit),
      swap: this.#swap ? at(names.swap) : null,
      usage: at(names.usage),
      stat: at('memory.stat'),
      events: at(names.events),
    };
  }

  close(): void {
    for (const file of [this.#limit, this.#swap, this.#low]) file?.close();
  }
}
