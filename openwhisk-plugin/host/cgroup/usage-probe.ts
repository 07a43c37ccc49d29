import { join } from 'node:path';
import type { Bytes, Clock, Micros } from '../../../config/index.js';
import type { UsageSample } from '../../decision/index.js';
import type { UsageProbe } from '../ports/index.js';
import type { CgroupPaths, ControllerDirectory } from './cgroup-paths.js';
import { ControlFile, StatKey, UNLIMITED, UNREADABLE } from './control-file.js';
import type { FileBudget } from './file-budget.js';

const USAGE_USEC = new StatKey('usage_usec');
const PERIODS = new StatKey('nr_periods');
const THROTTLED = new StatKey('nr_throttled');
const THROTTLED_TIME = { 1: new StatKey('throttled_time'), 2: new StatKey('throttled_usec') };
const WAIT_SUM = new StatKey('wait_sum');
const OOM_KILL = new StatKey('oom_kill');
const MAX = new StatKey('max');
const INACTIVE = { 1: new StatKey('total_inactive_file'), 2: new StatKey('inactive_file') };
/** The first `total=` of a pressure file is that of its line `some`. */
const PRESSURE_TOTAL = Buffer.from('total=', 'latin1');
/** `FROZEN` and `FREEZING`, against `THAWED`. */
const LETTER_F = 70;
/** Files that stay open for each container: its limits, the CPU counter, the memory peak. */
const KEPT = { 1: 6, 2: 7 } as const;
/** `memory.stat` costs most of all: while the use changes by less, it is read once a second. */
const STAT_STEP = 256 * 1024;
const STAT_MILLIS = 1000;
/** v1: limit hits and OOM kills are read often only if the peak is this near to the limit. */
const NEAR = 0.9;
/** Maximum age of what hardly changes without CPU use, or far below the limit. */
const FULL_READ_MILLIS = 30_000;
/** Minimum interval between readings of sums (waiting for a CPU) and of rare changes (paused). */
const SLOW_MILLIS = 1000;

type SamplePaths = Pick<CgroupPaths, 'cpu' | 'memory' | 'freezer'>;

type MemoryUseFiles = Pick<SampleFiles, 'usage' | 'memoryStat'>;

/** The files that only a sample reads. */
class SampleFiles {
  readonly cpuStat: ControlFile | null;
  readonly pressure: ControlFile | null;
  readonly schedstat: ControlFile | null;
  readonly usage: ControlFile | null;
  readonly memoryStat: ControlFile | null;
  readonly events: ControlFile | null;
  readonly limit: ControlFile | null;

  constructor({ cpu, memory }: SamplePaths, schedstat: string) {
    // v2 has throttling in the file that CPU time is read from.
    this.cpuStat = readable(cpu, 'cpu.stat', null);
    this.pressure = readable(cpu, null, 'cpu.pressure');
    this.schedstat = this.pressure ? null : quietly(() => ControlFile.open(schedstat, 'r'));
    this.usage = usageFile(memory);
    this.memoryStat = memoryStatFile(memory);
    this.events = readable(memory, null, 'memory.events');
    this.limit = readable(memory, 'memory.limit_in_bytes', null);
  }

  close(): void {
    for (const file of Object.values(this) as (ControlFile | null)[]) file?.close();
  }
}

/** The counters of one container. */
export class CgroupUsageProbe implements UsageProbe {
  readonly #clock: Clock;
  readonly #budget: FileBudget;
  readonly #paths: SamplePaths;
  readonly #schedstat: string;
  readonly #cpuacct: ControlFile | null;
  readonly #cpuacctVersion: 1 | 2;
  readonly #memoryVersion: 1 | 2;
  /** Always open: v2 forgets a reset with its descriptor. Null if the peak cannot be reset. */
  #peak: ControlFile | null;
  /**
   * Open from the first look on: of a container that waits for an answer without using CPU nothing
   * else is read, once a second, and to open it costs eight times as much.
   */
  #freezer: ControlFile | null = null;
  /** Null while closed: there are many, and another container may need the descriptors more. */
  #files: SampleFiles | null = null;
  /** v1 kernels that no longer count failures (6.18): times that the peak reached the limit. */
  #peaksAtLimit = 0;
  #isPeakAtLimit = false;
  /** What was filled in last, the CPU time then, and when all of it was read. */
  #filled: UsageSample | null = null;
  #filledAt = 0;
  #cpuBefore = Number.POSITIVE_INFINITY;
  #slowAt = Number.NEGATIVE_INFINITY;
  /** This sample also reads the rarely read files. */
  #isSlow = true;
  /** Time that it waited because others ran, and all time runnable without a CPU, us. */
  #waited = -1;
  #withoutCpu = 0;
  /** Time held back by its own quota, us: now, and when {@link #withoutCpu} was read. */
  #throttled = 0;
  #throttledThen = 0;
  #peakBefore = -1;
  #limit = 0;
  #limitHits = 0;
  #oomKills = 0;
  #fullReadAt = Number.NEGATIVE_INFINITY;
  /** Page cache that the kernel would drop, when it was read last, and the use then. */
  #inactive = 0;
  #usage = 0;
  #usageAtStat = 0;
  #statAt = Number.NEGATIVE_INFINITY;

  constructor(paths: CgroupPaths, schedstat: string, clock: Clock, budget: FileBudget) {
    this.#clock = clock;
    this.#budget = budget;
    this.#paths = paths;
    this.#schedstat = schedstat;
    this.#cpuacctVersion = paths.cpuacct?.version ?? 1;
    this.#memoryVersion = paths.memory?.version ?? 1;
    this.#cpuacct = file(paths.cpuacct, 'cpuacct.usage', 'cpu.stat');
    this.#peak = resettable(paths.memory);
    budget.opened(KEPT[this.#memoryVersion]);
  }

  cpu(): number {
    if (!this.#cpuacct) return -1;
    if (this.#cpuacctVersion === 2) return timeIn(this.#cpuacct.fill());
    const nanos = this.#cpuacct.number();
    return nanos < 0 ? -1 : nanos / 1000;
  }

  sample(into: UsageSample): boolean {
    const length = this.#cpuacctVersion === 2 ? (this.#cpuacct?.fill() ?? UNREADABLE) : 0;
    const cpu = this.#cpuacctVersion === 2 ? timeIn(length) : this.cpu();
    if (cpu < 0 && this.#cpuacct) return false;
    into.at = this.#clock.monotonic();
    this.#isSlow = into.at - this.#slowAt >= SLOW_MILLIS;
    if (this.#isSlow) this.#slowAt = into.at;
    // Without CPU use since then nothing else has changed, except that it may be paused.
    const isIdle = this.#filled === into && cpu >= 0 && cpu === this.#cpuBefore && !into.frozen;
    const isRecent = into.at - this.#filledAt < FULL_READ_MILLIS;
    if (isIdle && (isRecent || this.#usesTheSame())) {
      if (!isRecent) this.#filledAt = into.at;
      return !this.#isSlow || this.#readFreezer(into);
    }
    into.cpu = Math.max(0, cpu) as Micros;
    into.waiting = -1;
    into.periods = 0;
    into.throttledPeriods = 0;
    if (this.#cpuacctVersion === 2 && this.#paths.cpu !== null) this.#throttling(into, length);
    this.#filledAt = into.at;
    this.#filled = this.#sampleFiles(into) ? into : null;
    return this.#filled !== null;
  }

  #sampleFiles(into: UsageSample): boolean {
    this.#budget.use(this);
    this.#files ??= new SampleFiles(this.#paths, this.#schedstat);
    const files = this.#files;
    // No descriptor is left: the last values stay, and the next sample tries again.
    if (files.usage === null && this.#paths.memory !== null) this.closeFiles();
    return (
      this.#sampleCpu(into, files) && this.#sampleMemory(into, files) && this.#sampleFreezer(into)
    );
  }

  workingSet(): number {
    const now = this.#clock.monotonic();
    if (this.#files !== null) return this.#workingSet(this.#files, now);
    if (this.#usesTheSame()) return Math.max(0, this.#usage - this.#inactive);
    const { memory } = this.#paths;
    const [usage, memoryStat] = [usageFile(memory), memoryStatFile(memory)];
    const found = this.#workingSet({ usage, memoryStat }, now);
    usage?.close();
    memoryStat?.close();
    return found;
  }

  /** As much memory as at the last reading. Opening a file costs most, and this opens one. */
  #usesTheSame(): boolean {
    const open = this.#files?.usage ?? null;
    const file = open ?? usageFile(this.#paths.memory);
    const isSame = file !== null && file.number() === this.#usage;
    if (open === null) file?.close();
    return isSame;
  }

  /** The peak becomes the present use; on v2 for this descriptor only, from kernel 6.12 on. */
  resetPeak(): void {
    if (this.#peak !== null && this.#peak.write(0) !== null) {
      // Not reset, so the file keeps the peak of earlier activations: unknown from now on.
      this.#peak.close();
      this.#peak = null;
      if (this.#filled !== null) this.#filled.peak = -1;
    }
    this.#isPeakAtLimit = false;
    if (this.#peak !== null && this.#filled !== null) this.#filled.peak = this.#usage;
  }

  /** From the budget: others need the descriptors. */
  closeFiles(): void {
    this.#files?.close();
    this.#files = null;
  }

  close(): void {
    this.#budget.closed(this, KEPT[this.#memoryVersion] + (this.#freezer === null ? 0 : 1));
    this.closeFiles();
    this.#freezer?.close();
    this.#cpuacct?.close();
    this.#peak?.close();
  }

  /** From the `cpu.stat` that was just read: v2 has CPU time and throttling in one file. */
  #throttling(into: UsageSample, length: number): void {
    into.periods = Math.max(0, PERIODS.valueOf(length));
    into.throttledPeriods = Math.max(0, THROTTLED.valueOf(length));
    if (this.#isSlow) this.#throttled = this.#throttledIn(length);
    const wait = WAIT_SUM.valueOf(length);
    if (wait >= 0) into.waiting = wait / 1000;
  }

  #sampleCpu(into: UsageSample, { cpuStat, pressure, schedstat }: SampleFiles): boolean {
    if (cpuStat) {
      const length = cpuStat.fill();
      if (length < 0) return false;
      this.#throttling(into, length);
    }
    if (into.waiting >= 0 && !pressure) return true;
    if (this.#isSlow) this.#addWait(waitedOf(pressure, schedstat));
    into.waiting = this.#waited;
    return true;
  }

  /** To the kernel a throttled task is runnable without a CPU, but nothing else took that CPU. */
  #addWait(withoutCpu: number): void {
    const throttled = this.#throttled - this.#throttledThen;
    const waited = Math.max(0, withoutCpu - this.#withoutCpu - throttled);
    if (withoutCpu < 0) this.#waited = -1;
    else this.#waited = this.#waited < 0 ? withoutCpu : this.#waited + waited;
    this.#withoutCpu = withoutCpu;
    this.#throttledThen = this.#throttled;
  }

  #throttledIn(length: number): number {
    const version = this.#paths.cpu?.version ?? 1;
    const time = THROTTLED_TIME[version].valueOf(length);
    return Math.max(0, version === 1 ? time / 1000 : time);
  }

  #workingSet(files: MemoryUseFiles, now: number): number {
    const { memoryStat } = files;
    if (files.usage === null || memoryStat === null) return 0;
    const usage = files.usage.number();
    if (usage === UNREADABLE) return -1;
    this.#usage = usage;
    if (Math.abs(usage - this.#usageAtStat) >= STAT_STEP || now - this.#statAt >= STAT_MILLIS) {
      const length = memoryStat.fill();
      if (length < 0) return -1;
      this.#inactive = Math.max(0, INACTIVE[this.#memoryVersion].valueOf(length));
      this.#usageAtStat = usage;
      this.#statAt = now;
    }
    return Math.max(0, usage - this.#inactive);
  }

  #sampleMemory(into: UsageSample, files: SampleFiles): boolean {
    if (!files.usage || !files.memoryStat) return true;
    const workingSet = this.#workingSet(files, into.at);
    if (workingSet < 0) return false;
    into.workingSet = workingSet as Bytes;
    const peak = this.#peak?.number() ?? -1;
    into.peak = peak < 0 ? -1 : peak;
    if (this.#memoryVersion === 1) this.#readFailures(peak, files.limit, into.at);
    else {
      const events = files.events?.fill() ?? -1;
      this.#oomKills = events < 0 ? 0 : Math.max(0, OOM_KILL.valueOf(events));
      this.#limitHits = events < 0 ? 0 : Math.max(0, MAX.valueOf(events));
    }
    into.oomKills = this.#oomKills;
    into.limitHits = this.#limitHits;
    return true;
  }

  /**
   * v1: limit hits and OOM kills. Far below its limit a container cannot have hit it, so three
   * files are not read at every sample; a kill by a shortage of the whole host is noticed later.
   */
  #readFailures(peak: number, limitFile: ControlFile | null, now: number): void {
    if (this.#isSlow || peak !== this.#peakBefore) this.#limit = limitFile?.number() ?? UNLIMITED;
    this.#peakBefore = peak;
    const limit = this.#limit;
    const isNear = peak < 0 || limit <= 0 || peak >= NEAR * limit;
    if (!isNear && now - this.#fullReadAt < FULL_READ_MILLIS) return;
    this.#fullReadAt = now;
    const counter = (name: string, key?: StatKey): number => {
      const opened = readable(this.#paths.memory, name, null);
      const value = key ? key.valueOf(opened?.fill() ?? -1) : (opened?.number() ?? 0);
      opened?.close();
      return Math.max(0, value);
    };
    this.#oomKills = counter('memory.oom_control', OOM_KILL);
    // With memory and swap limited to the same sum, as OpenWhisk does, only the second one grows.
    const failures = counter('memory.failcnt') + counter('memory.memsw.failcnt');
    if (!this.#isPeakAtLimit && peak >= 0 && peak >= limit) {
      this.#isPeakAtLimit = true;
      this.#peaksAtLimit++;
    }
    this.#limitHits = failures > 0 ? failures : this.#peaksAtLimit;
  }

  /** Pauses by `runc` are visible here only. A container that used CPU was not paused. */
  #sampleFreezer(into: UsageSample): boolean {
    const moved = into.cpu > this.#cpuBefore;
    this.#cpuBefore = into.cpu;
    if (!into.frozen && (moved || !this.#isSlow)) return true;
    return this.#readFreezer(into);
  }

  #readFreezer(into: UsageSample): boolean {
    into.frozen = false;
    if (this.#freezer === null) {
      this.#freezer = freezerFile(this.#paths.freezer);
      if (this.#freezer === null) return true;
      this.#budget.opened(1);
    }
    if (this.#paths.freezer?.version === 1) {
      const first = this.#freezer.firstByte();
      into.frozen = first === LETTER_F;
      return first >= 0;
    }
    const state = this.#freezer.number();
    into.frozen = state === 1;
    return state !== UNREADABLE;
  }
}

function file(
  where: ControllerDirectory | null,
  v1: string | null,
  v2: string | null,
): ControlFile | null {
  const name = where?.version === 1 ? v1 : v2;
  // Not by `join`, which looks at each letter of the path: checks open some files again and again.
  return where && name ? ControlFile.open(`${where.directory}/${name}`, 'r') : null;
}

/** As {@link file}; null, too, if it cannot be opened now: a sample must not fail. */
const readable = (...of: Parameters<typeof file>): ControlFile | null => quietly(() => file(...of));

const usageFile = (memory: ControllerDirectory | null): ControlFile | null =>
  readable(memory, 'memory.usage_in_bytes', 'memory.current');

const memoryStatFile = (memory: ControllerDirectory | null): ControlFile | null =>
  readable(memory, 'memory.stat', 'memory.stat');

const freezerFile = (freezer: ControllerDirectory | null): ControlFile | null =>
  readable(freezer, 'freezer.state', 'cgroup.freeze');

/** CPU time in the `cpu.stat` that was just read, us. */
const timeIn = (length: number): number => (length < 0 ? -1 : USAGE_USEC.valueOf(length));

/** Time runnable without a CPU so far, us; -1 if it cannot be read. */
function waitedOf(pressure: ControlFile | null, schedstat: ControlFile | null): number {
  if (pressure) {
    const length = pressure.fill();
    return length < 0 ? -1 : StatKey.wordOf(PRESSURE_TOTAL, length);
  }
  // Only the first process's main thread, where the node proxy runs functions: a lower bound.
  const nanos = schedstat?.number(1) ?? -1;
  return nanos < 0 ? -1 : nanos / 1000;
}

function quietly(open: () => ControlFile | null): ControlFile | null {
  try {
    return open();
  } catch {
    return null;
  }
}

/**
 * Null if the peak covers the container's whole life, which is useless for one activation. Before
 * kernel 6.12 root can open `memory.peak` but each write fails with EINVAL
 * (https://docs.kernel.org/admin-guide/cgroup-v2.html), so it is reset once to see whether it can
 * be.
 */
function resettable(memory: ControllerDirectory | null): ControlFile | null {
  if (memory === null) return null;
  const name = memory.version === 1 ? 'memory.max_usage_in_bytes' : 'memory.peak';
  const peak = quietly(() => ControlFile.open(join(memory.directory, name), 'r+'));
  if (peak === null || peak.write(Math.max(0, peak.number())) === null) return peak;
  peak.close();
  return null;
}
