import { join } from 'node:path';
import { type Bytes, type Clock, systemClock } from '../../../config/index.js';
import type { ContainerInfo, UsageMonitor, UsageProbe } from '../ports/index.js';
import { MountTable } from './cgroup-mounts.js';
import { type CgroupPaths, resolveCgroups } from './cgroup-paths.js';
import { ControlFile, StatKey } from './control-file.js';
import { FileBudget } from './file-budget.js';
import { CgroupUsageProbe } from './usage-probe.js';

const MEM_TOTAL = new StatKey('MemTotal:');
const MEM_AVAILABLE = new StatKey('MemAvailable:');

export interface CgroupUsageMonitorOptions {
  /** The file system's root: `/` but in tests. */
  readonly root?: string;
  readonly clock?: Clock;
  /** The cgroups of a container if they are known, as to the limit writer that opened it. */
  readonly pathsOf?: (container: ContainerInfo) => CgroupPaths | null;
}

/** The kernel's counters, on descriptors that stay open while they may. */
export class CgroupUsageMonitor implements UsageMonitor {
  readonly #root: string;
  readonly #mounts: MountTable;
  readonly #clock: Clock;
  readonly #budget: FileBudget;
  readonly #pathsOf: (container: ContainerInfo) => CgroupPaths | null;
  #meminfo: ControlFile | null = null;

  constructor(options: CgroupUsageMonitorOptions = {}) {
    this.#root = options.root ?? '/';
    this.#clock = options.clock ?? systemClock;
    this.#mounts = new MountTable(this.#root, this.#clock);
    this.#budget = FileBudget.ofProcess(this.#root);
    this.#pathsOf = options.pathsOf ?? (() => null);
  }

  /** Throws CgroupNotFoundError, CgroupNamespaceError, CgroupOpenFilesError. */
  open(container: ContainerInfo): UsageProbe {
    const { pid, id } = container;
    const paths = this.#pathsOf(container) ?? resolveCgroups(pid, id, this.#mounts);
    const schedstat = join(this.#root, `proc/${container.pid}/schedstat`);
    return new CgroupUsageProbe(paths, schedstat, this.#clock, this.#budget);
  }

  hostMemoryInUse(): Bytes {
    this.#meminfo ??= ControlFile.open(join(this.#root, 'proc/meminfo'), 'r');
    const length = this.#meminfo?.fillWords() ?? -1;
    const available = MEM_AVAILABLE.valueOf(length);
    // Unknown is as good as full: nothing is lent then.
    if (length < 0 || available < 0) return Number.MAX_SAFE_INTEGER as Bytes;
    return ((MEM_TOTAL.valueOf(length) - available) * 1024) as Bytes;
  }

  close(): void {
    this.#meminfo?.close();
    this.#meminfo = null;
  }
}
