import { join } from 'node:path';
import { type Bytes, type Clock, type Micros, systemClock } from '../../config/index.js';
import type { ContainerInfo, UsageMonitor, UsageProbe, UsageSample } from '../ports/index.js';
import { type CgroupPaths, type ControllerDirectory, resolveCgroups } from './cgroup-paths.js';
import { ControlFile, StatKey, UNLIMITED, UNREADABLE } from './control-file.js';
import { FileBudget } from './file-budget.js';

const MEM_TOTAL = new StatKey('MemTotal:');
const MEM_AVAILABLE = new StatKey('MemAvailable:');
const USAGE_USEC = new StatKey('usage_usec');
const PERIODS = new StatKey('nr_periods');
const THROTTLED = new StatKey('nr_throttled');
const WAIT_SUM = new StatKey('wait_sum');
const OOM_KILL = new StatKey('oom_kill');
const MAX = new StatKey('max');
const TOTAL_INACTIVE_FILE = new StatKey('total_inactive_file');
const INACTIVE_FILE = new StatKey('inactive_file');
/** The first `total=` of a pressure file is that of its line `some`. */
const PRESSURE_TOTAL = Buffer.from('total=', 'latin1');
/** `FROZEN` and `FREEZING`, against `THAWED`. */
const LETTER_F = 70;

export interface CgroupUsageMonitorOptions {
  /** The file system's root: `/` but in tests. */
  readonly root?: string;
  readonly clock?: Clock;
}

/** Counters from the kernel, by key and never by line number (field-notes A2-21), on descriptors that stay open while they may. */
export class CgroupUsageMonitor implements UsageMonitor {
  readonly #root: string;
  readonly #clock: Clock;
  readonly #budget: FileBudget;
  #meminfo: ControlFile | null = null;

  constructor(options: CgroupUsageMonitorOptions = {}) {
    this.#root = options.root ?? '/';
    this.#clock = options.clock ?? systemClock;
    this.#budget = FileBudget.ofProcess(this.#root);
  }

  /** Throws CgroupNotFoundError, CgroupNamespaceError, CgroupOpenFilesError. */
  open(container: ContainerInfo): UsageProbe {
    const paths = resolveCgroups(container.pid, container.id, this.#root);
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

type SamplePaths = Pick<CgroupPaths, 'cpu' | 'memory' | 'freezer'>;

/** The files that only a sample reads. */
class SampleFiles {
  readonly cpuStat: ControlFile | null;
  readonly pressure: ControlFile | null;
  readonly schedstat: ControlFile | null;
  readonly usage: ControlFile | null;
  readonly memoryStat: ControlFile | null;
  readonly events: ControlFile | null;
  readonly failures: ControlFile | null;
  /** With memory and swap limited to the same sum, as OpenWhisk does, it is this counter that grows, and the other stays 0. */
  readonly swapFailures: ControlFile | null;
  readonly limit: ControlFile | null;
  readonly frozen: ControlFile | null;

  constructor({ cpu, memory, freezer }: SamplePaths, schedstat: string) {
    this.cpuStat = readable(cpu, 'cpu.stat', 'cpu.stat');
    this.pressure = readable(cpu, null, 'cpu.pressure');
    this.schedstat = this.pressure ? null : quietly(() => ControlFile.open(schedstat, 'r'));
    this.usage = readable(memory, 'memory.usage_in_bytes', 'memory.current');
    this.memoryStat = readable(memory, 'memory.stat', 'memory.stat');
    this.events = readable(memory, 'memory.oom_control', 'memory.events');
    this.failures = readable(memory, 'memory.failcnt', null);
    this.swapFailures = readable(memory, 'memory.memsw.failcnt', null);
    this.limit = readable(memory, 'memory.limit_in_bytes', null);
    this.frozen = readable(freezer, 'freezer.state', 'cgroup.freeze');
  }

  close(): void {
    this.cpuStat?.close();
    this.pressure?.close();
    this.schedstat?.close();
    this.usage?.close();
    this.memoryStat?.close();
    this.events?.close();
    this.failures?.close();
    this.swapFailures?.close();
    this.limit?.close();
    this.frozen?.close();
  }
}

class CgroupUsageProbe implements UsageProbe {
  readonly #clock: Clock;
  readonly #budget: FileBudget;
  readonly #paths: SamplePaths;
  readonly #schedstat: string;
  readonly #cpuacct: ControlFile | null;
  readonly #cpuacctVersion: 1 | 2;
  readonly #memoryVersion: 1 | 2;
  readonly #frozenVersion: 1 | 2;
  /** Always open: v2 forgets a reset with the descriptor that made it. */
  readonly #peak: ControlFile | null;
  /** Null while none is open: they are the many, and closed where another container needs the descriptors more. */
  #files: SampleFiles | null = null;
  /** v1 kernels that no longer count failures (seen: 6.18): how often the peak has reached the limit since a reset. */
  #peaksAtLimit = 0;
  #isPeakAtLimit = false;

  constructor(paths: CgroupPaths, schedstat: string, clock: Clock, budget: FileBudget) {
    this.#clock = clock;
    this.#budget = budget;
    const { cpuacct, cpu, memory, freezer } = paths;
    this.#paths = { cpu, memory, freezer };
    this.#schedstat = schedstat;
    this.#cpuacctVersion = cpuacct?.version ?? 1;
    this.#memoryVersion = memory?.version ?? 1;
    this.#frozenVersion = freezer?.version ?? 1;
    this.#cpuacct = file(cpuacct, 'cpuacct.usage', 'cpu.stat');
    this.#peak = resettable(memory);
    budget.opened();
  }

  cpu(): number {
    if (!this.#cpuacct) return -1;
    if (this.#cpuacctVersion === 1) {
      const nanos = this.#cpuacct.number();
      return nanos < 0 ? -1 : nanos / 1000;
    }
    const length = this.#cpuacct.fill();
    return length < 0 ? -1 : USAGE_USEC.valueOf(length);
  }

  sample(into: UsageSample): boolean {
    const cpu = this.cpu();
    if (cpu < 0 && this.#cpuacct) return false;
    this.#budget.use(this);
    this.#files ??= new SampleFiles(this.#paths, this.#schedstat);
    const files = this.#files;
    // Not one descriptor was left: what is known stands, and the next sample tries again.
    if (files.usage === null && this.#paths.memory !== null) this.rest();
    into.at = this.#clock.monotonic();
    into.cpu = Math.max(0, cpu) as Micros;
    return this.#sampleCpu(into, files) && this.#sampleMemory(into, files) && this.#sampleFreezer(into, files);
  }

  workingSet(): number {
    if (this.#files !== null) return this.#workingSet(this.#files.usage, this.#files.memoryStat);
    const usage = readable(this.#paths.memory, 'memory.usage_in_bytes', 'memory.current');
    const memoryStat = readable(this.#paths.memory, 'memory.stat', 'memory.stat');
    const found = this.#workingSet(usage, memoryStat);
    usage?.close();
    memoryStat?.close();
    return found;
  }

  /** v1: the peak becomes the present use. v2: the same for this descriptor, from kernel 6.12 on. */
  resetPeak(): void {
    this.#peak?.write(0);
    this.#isPeakAtLimit = false;
  }

  /** From the budget: others need the descriptors. */
  rest(): void {
    this.#files?.close();
    this.#files = null;
  }

  close(): void {
    this.#budget.closed(this);
    this.rest();
    this.#cpuacct?.close();
    this.#peak?.close();
  }

  #sampleCpu(into: UsageSample, { cpuStat, pressure, schedstat }: SampleFiles): boolean {
    into.waiting = -1;
    into.periods = 0;
    into.throttledPeriods = 0;
    if (cpuStat) {
      const length = cpuStat.fill();
      if (length < 0) return false;
      into.periods = Math.max(0, PERIODS.valueOf(length));
      into.throttledPeriods = Math.max(0, THROTTLED.valueOf(length));
      const wait = WAIT_SUM.valueOf(length);
      if (wait >= 0) into.waiting = wait / 1000;
    }
    if (pressure) {
      const length = pressure.fill();
      if (length >= 0) into.waiting = StatKey.wordOf(PRESSURE_TOTAL, length);
    } else if (into.waiting < 0 && schedstat) {
      // The first process's main thread only: it is where the node proxy runs functions, and a lower bound for the others.
      const nanos = schedstat.number(1);
      if (nanos >= 0) into.waiting = nanos / 1000;
    }
    return true;
  }

  #workingSet(usageFile: ControlFile | null, statFile: ControlFile | null): number {
    if (usageFile === null || statFile === null) return 0;
    const usage = usageFile.number();
    const length = statFile.fill();
    if (usage === UNREADABLE || length < 0) return -1;
    const inactive = (this.#memoryVersion === 1 ? TOTAL_INACTIVE_FILE : INACTIVE_FILE).valueOf(length);
    return Math.max(0, usage - Math.max(0, inactive));
  }

  #sampleMemory(into: UsageSample, files: SampleFiles): boolean {
    if (!files.usage || !files.memoryStat) return true;
    const workingSet = this.#workingSet(files.usage, files.memoryStat);
    if (workingSet < 0) return false;
    into.workingSet = workingSet as Bytes;
    const peak = this.#peak?.number() ?? -1;
    into.peak = peak < 0 ? -1 : peak;
    const events = files.events?.fill() ?? -1;
    into.oomKills = events < 0 ? 0 : Math.max(0, OOM_KILL.valueOf(events));
    into.limitHits =
      this.#memoryVersion === 2 ? Math.max(0, events < 0 ? 0 : MAX.valueOf(events)) : this.#failuresOf(peak, files);
    return true;
  }

  #failuresOf(peak: number, { failures, swapFailures, limit }: SampleFiles): number {
    const counted = Math.max(0, failures?.number() ?? 0) + Math.max(0, swapFailures?.number() ?? 0);
    if (counted > 0) return counted;
    if (!this.#isPeakAtLimit && peak >= 0 && peak >= (limit?.number() ?? UNLIMITED)) {
      this.#isPeakAtLimit = true;
      this.#peaksAtLimit++;
    }
    return this.#peaksAtLimit;
  }

  /** Pauses by `runc` are visible here and nowhere else (field-notes A1-11). */
  #sampleFreezer(into: UsageSample, { frozen }: SampleFiles): boolean {
    into.frozen = false;
    if (!frozen) return true;
    if (this.#frozenVersion === 1) {
      const first = frozen.firstByte();
      into.frozen = first === LETTER_F;
      return first >= 0;
    }
    const state = frozen.number();
    into.frozen = state === 1;
    return state !== UNREADABLE;
  }
}

function file(where: ControllerDirectory | null, v1: string | null, v2: string | null): ControlFile | null {
  const name = where?.version === 1 ? v1 : v2;
  return where === null || name === null ? null : ControlFile.open(join(where.directory, name), 'r');
}

/** As {@link file}; null, too, where it cannot be opened now: a sample is no place to fail. */
const readable = (where: ControllerDirectory | null, v1: string | null, v2: string | null): ControlFile | null =>
  quietly(() => file(where, v1, v2));

function quietly(open: () => ControlFile | null): ControlFile | null {
  try {
    return open();
  } catch {
    return null;
  }
}

/** Null where the peak is that of the container's whole life, which says nothing about one activation (field-notes A2-15). */
function resettable(memory: ControllerDirectory | null): ControlFile | null {
  if (memory === null) return null;
  try {
    return ControlFile.open(
      join(memory.directory, memory.version === 1 ? 'memory.max_usage_in_bytes' : 'memory.peak'),
      'r+',
    );
  } catch {
    return null;
  }
}
