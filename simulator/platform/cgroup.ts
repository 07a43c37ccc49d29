import type { Bytes, Micros, Millicores, Millis } from '../../config/index.js';
import type { Limits, UsageSample, WriteResult } from '../../openwhisk-plugin/decision/index.js';
import type {
  ContainerInfo,
  LimitHandle,
  LimitWriter,
  UsageMonitor,
  UsageProbe,
} from '../../openwhisk-plugin/host/ports/index.js';
import { State } from './container-table.js';
import type { SimHost } from './host.js';
import { isAlive } from './placement.js';

/** A page, and the smallest quota the kernel takes (`min_cfs_quota_period`), us. */
const PAGE = 4096;
const LEAST_QUOTA = 1000;
const LEAST_SHARES = 2;
const MOST_SHARES = 262_144;

/** Finds a container by its engine identifier; -1 where it has ended. */
export type SlotOf = (id: string) => number;

/**
 * cgroup v1 as the kernel behaves, on simulated containers: same rounding, same refusals, read
 * back.
 */
export class SimLimitWriter implements LimitWriter {
  readonly #host: SimHost;
  readonly #slotOf: SlotOf;
  readonly #margin: number;

  /** @param margin a memory limit is never lowered below use x (1 + margin) */
  constructor(host: SimHost, slotOf: SlotOf, margin = 0.1) {
    this.#host = host;
    this.#slotOf = slotOf;
    this.#margin = margin;
  }

  open(container: ContainerInfo): LimitHandle {
    return new SimLimitHandle(this.#host, this.#slotOf, container.id, this.#margin);
  }

  expressible(shares: number): number {
    return clampShares(shares);
  }
}

class SimLimitHandle implements LimitHandle {
  readonly expected: Limits = { shares: 0, quota: 0 as Millicores, memory: 0 as Bytes };
  readonly #host: SimHost;
  readonly #slotOf: SlotOf;
  readonly #id: string;
  readonly #margin: number;
  #closed = false;

  constructor(host: SimHost, slotOf: SlotOf, id: string, margin: number) {
    this.#host = host;
    this.#slotOf = slotOf;
    this.#id = id;
    this.#margin = margin;
    this.read(this.expected);
  }

  setShares(shares: number): WriteResult {
    const slot = this.#slot();
    if (slot < 0) return 'gone';
    if (!Number.isFinite(shares)) return 'refused';
    const requested = clampShares(shares);
    this.expected.shares = requested;
    if (this.#host.table.columns.weight[slot] === requested) return 'unchanged';
    this.#host.cpu.setWeight(slot, requested, this.#host.now);
    return 'written';
  }

  setQuota(quota: Millicores): WriteResult {
    const slot = this.#slot();
    if (slot < 0) return 'gone';
    if (!Number.isFinite(quota) || quota < 0) return 'refused';
    const c = this.#host.table.columns;
    const micros = Math.round((quota * c.period[slot]!) / 1000);
    if (quota !== 0 && micros < LEAST_QUOTA) return 'refused';
    this.expected.quota = ((micros * 1000) / c.period[slot]!) as Millicores;
    if (c.quota[slot] === micros) return 'unchanged';
    this.#host.cpu.setQuota(slot, micros, this.#host.now);
    return 'written';
  }

  raiseMemory(limit: Bytes): WriteResult {
    const slot = this.#slot();
    if (slot < 0) return 'gone';
    if (!Number.isFinite(limit) || limit < 0) return 'refused';
    const old = this.#host.table.columns.limit[slot]!;
    const requested = pages(limit);
    if (requested === old) return 'unchanged';
    if (requested !== 0 && (old === 0 || requested < old)) return 'refused';
    return this.#setMemory(slot, requested);
  }

  lowerMemory(limit: Bytes): Promise<WriteResult> {
    return Promise.resolve(this.#lower(limit));
  }

  protectMemory(_amount: Bytes): WriteResult {
    return this.#slot() < 0 ? 'gone' : 'unsupported';
  }

  read(into: Limits): boolean {
    const slot = this.#slot();
    if (slot < 0) return false;
    const c = this.#host.table.columns;
    into.shares = c.weight[slot]!;
    into.quota = ((c.quota[slot]! * 1000) / c.period[slot]!) as Millicores;
    into.memory = c.limit[slot]! as Bytes;
    return true;
  }

  close(): void {
    this.#closed = true;
  }

  #lower(limit: Bytes): WriteResult {
    const slot = this.#slot();
    if (slot < 0) return 'gone';
    if (!Number.isFinite(limit) || limit <= 0) return 'refused';
    const old = this.#host.table.columns.limit[slot]!;
    const requested = pages(limit);
    if (requested === old) return 'unchanged';
    if (old !== 0 && requested > old) return 'refused';
    this.#host.cpu.settle(slot, this.#host.now);
    if (requested < this.#host.cpu.workingSet(slot) * (1 + this.#margin)) return 'refused';
    return this.#setMemory(slot, requested);
  }

  #setMemory(slot: number, limit: number): WriteResult {
    this.#host.cpu.settle(slot, this.#host.now);
    this.#host.table.columns.limit[slot] = limit;
    this.#host.cpu.dirty = true;
    this.expected.memory = limit as Bytes;
    return 'written';
  }

  #slot(): number {
    return this.#closed ? -1 : this.#slotOf(this.#id);
  }
}

/** The kernel's counters of simulated containers. */
export class SimUsageMonitor implements UsageMonitor {
  readonly #host: SimHost;
  readonly #slotOf: SlotOf;

  constructor(host: SimHost, slotOf: SlotOf) {
    this.#host = host;
    this.#slotOf = slotOf;
  }

  open(container: ContainerInfo): UsageProbe {
    return new SimUsageProbe(this.#host, this.#slotOf, container.id);
  }

  hostMemoryInUse(): Bytes {
    const { table, cpu, now, options } = this.#host;
    let sum = options.systemMemoryBytes;
    for (let slot = 0; slot < table.high; slot++) {
      if (!isAlive(table, slot)) continue;
      cpu.settle(slot, now);
      sum += cpu.workingSet(slot);
    }
    return Math.round(sum) as Bytes;
  }
}

class SimUsageProbe implements UsageProbe {
  readonly #host: SimHost;
  readonly #slotOf: SlotOf;
  readonly #id: string;
  #closed = false;

  constructor(host: SimHost, slotOf: SlotOf, id: string) {
    this.#host = host;
    this.#slotOf = slotOf;
    this.#id = id;
  }

  cpu(): number {
    const slot = this.#slot();
    if (slot < 0) return -1;
    this.#host.cpu.settle(slot, this.#host.now);
    return this.#host.table.columns.cpuUsed[slot]!;
  }

  sample(into: UsageSample): boolean {
    const slot = this.#slot();
    if (slot < 0) return false;
    const host = this.#host;
    host.cpu.settle(slot, host.now);
    const c = host.table.columns;
    into.at = (host.now / 1000) as Millis;
    into.cpu = c.cpuUsed[slot]! as Micros;
    into.workingSet = Math.round(host.cpu.workingSet(slot)) as Bytes;
    into.peak = Math.round(c.peakSeen[slot]!);
    into.periods = c.periods[slot]!;
    into.throttledPeriods = c.throttledPeriods[slot]!;
    into.waiting = c.waited[slot]!;
    into.oomKills = c.oomKills[slot]!;
    into.limitHits = c.limitHits[slot]!;
    into.frozen = host.table.state[slot] === State.paused;
    return true;
  }

  workingSet(): number {
    const slot = this.#slot();
    if (slot < 0) return -1;
    this.#host.cpu.settle(slot, this.#host.now);
    return Math.round(this.#host.cpu.workingSet(slot));
  }

  resetPeak(): void {
    const slot = this.#slot();
    if (slot < 0) return;
    this.#host.cpu.settle(slot, this.#host.now);
    this.#host.table.columns.peakSeen[slot] = this.#host.cpu.workingSet(slot);
  }

  close(): void {
    this.#closed = true;
  }

  #slot(): number {
    return this.#closed ? -1 : this.#slotOf(this.#id);
  }
}

function clampShares(shares: number): number {
  return Math.min(MOST_SHARES, Math.max(LEAST_SHARES, Math.round(shares)));
}

function pages(limit: number): number {
  return Math.floor(limit / PAGE) * PAGE;
}
