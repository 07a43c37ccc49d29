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
const PERIOD_FILE = 'cpu.cfs_period_us';
/** The text for "no limit". */
const NONE = { 1: '-1', 2: 'max' } as const;

/** The files that have a group's quota and its period, which v2 has in one. */
class QuotaFiles {
  readonly #quota: ControlFile;
  readonly #period: ControlFile | null;

  private constructor(quota: ControlFile, period: ControlFile | null) {
    this.#quota = quota;
    this.#period = period;
  }

  /** Null where the files are missing: at the root of a hierarchy. */
  static open(directory: string, version: 1 | 2): QuotaFiles | null {
    const quota = ControlFile.open(join(directory, CPU_FILES[version].quota), 'r');
    if (quota === null) return null;
    try {
      const period = version === 1 ? ControlFile.open(join(directory, PERIOD_FILE), 'r') : null;
      return new QuotaFiles(quota, period);
    } catch (error) {
      quota.close();
      throw error;
    }
  }

  /** us; {@link UNREADABLE} when the group is gone. */
  quota(): number {
    return this.#quota.number();
  }

  period(version: 1 | 2): number {
    return version === 1 ? (this.#period?.number() ?? UNREADABLE) : this.#quota.number(1);
  }

  close(): void {
    this.#quota.close();
    this.#period?.close();
  }
}

/** More than there are groups above the containers of one node, but for pods' own. */
const MAX_GROUPS = 16;

/** Quotas of the groups above containers, which all of them share, in files that stay open. */
export class GroupQuotas {
  readonly #files = new Map<string, QuotaFiles | null>();

  /** Null at the root of the hierarchy. */
  of(directory: string, version: 1 | 2): { quota: number; period: number } | null {
    let files = this.#files.get(directory);
    let quota = files?.quota() ?? UNREADABLE;
    // Not known, or another group of that name by now.
    if (files !== null && quota === UNREADABLE) {
      files?.close();
      files = this.#open(directory, version);
      quota = files?.quota() ?? UNREADABLE;
    }
    return files ? { quota, period: files.period(version) } : null;
  }

  /** It may be removed now, as a pod's is: an open file would keep it in the kernel. */
  forget(directory: string): void {
    this.#files.get(directory)?.close();
    this.#files.delete(directory);
  }

  close(): void {
    for (const directory of [...this.#files.keys()]) this.forget(directory);
  }

  #open(directory: string, version: 1 | 2): QuotaFiles | null {
    this.#files.delete(directory);
    const [oldest] = this.#files;
    if (oldest !== undefined && this.#files.size >= MAX_GROUPS) {
      oldest[1]?.close();
      this.#files.delete(oldest[0]);
    }
    const files = QuotaFiles.open(directory, version);
    this.#files.set(directory, files);
    return files;
  }
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
  readonly #groups: GroupQuotas;

  constructor(
    { directory, version }: ControllerDirectory,
    userPeriod: number,
    groups: GroupQuotas,
  ) {
    this.#groups = groups;
    this.version = version;
    this.directory = directory;
    try {
      this.#weight = ControlFile.open(join(directory, CPU_FILES[version].weight), 'r+');
      this.#quota = ControlFile.open(join(directory, CPU_FILES[version].quota), 'r+');
      const own = QuotaFiles.open(directory, version);
      const period = own?.period(version) ?? UNREADABLE;
      own?.close();
      this.#firstPeriod = period > 0 ? period : userPeriod;
      this.#openBurst();
    } catch (error) {
      this.close();
      throw error;
    }
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
      const group = this.#groups.of(at, this.version);
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
    this.#groups.forget(dirname(this.directory));
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
    try {
      this.#swap = ControlFile.open(join(directory, swap), 'r+');
      this.#low = low && ControlFile.open(join(directory, low), 'r+');
    } catch (error) {
      this.close();
      throw error;
    }
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
