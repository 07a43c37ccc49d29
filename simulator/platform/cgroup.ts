import type { Bytes, Millicores } from '../../config/index.js';
import {
  clampShares,
  type Limits,
  type UsageSample,
  type WriteResult,
} from '../../openwhisk-plugin/decision/index.js';
import type {
  ContainerInfo,
  LimitHandle,
  LimitWriter,
  UsageMonitor,
  UsageProbe,
} from '../../openwhisk-plugin/host/ports/index.js';
import { PERIOD_MICROS } from '../engine/index.js';
import type { SimContainer } from './sim-container.js';

/** A page, and the smallest quota the kernel takes (`min_cfs_quota_period`), us. */
const PAGE = 4096;
const MIN_QUOTA = 1000;
/** A memory limit is never lowered below use x this. */
const MEMORY_MARGIN = 1.1;

/** Finds a container by its engine identifier; undefined if it has ended. */
export type FindContainer = (id: string) => SimContainer | undefined;

/** Limits in cgroup v1 as the kernel sets them: the same rounding and refusals, read back. */
export class SimLimitWriter implements LimitWriter {
  readonly #find: FindContainer;

  constructor(find: FindContainer) {
    this.#find = find;
  }

  open({ id }: ContainerInfo): LimitHandle {
    return new SimLimitHandle(this.#find, id);
  }

  expressible(shares: number): number {
    return clampShares(shares);
  }
}

class SimLimitHandle implements LimitHandle {
  readonly expected: Limits = { shares: 0, quota: 0 as Millicores, memory: 0 as Bytes };
  readonly #current: Limits = { shares: 0, quota: 0 as Millicores, memory: 0 as Bytes };
  readonly #find: FindContainer;
  readonly #id: string;
  #closed = false;

  constructor(find: FindContainer, id: string) {
    this.#find = find;
    this.#id = id;
    this.read(this.expected);
  }

  setShares(shares: number): WriteResult {
    const container = this.#container();
    if (container === undefined) return 'gone';
    if (!Number.isFinite(shares)) return 'refused';
    const requested = clampShares(shares);
    this.expected.shares = requested;
    if (this.#current.shares === requested) return 'unchanged';
    container.setShares(requested);
    return 'written';
  }

  setQuota(quota: Millicores): WriteResult {
    const container = this.#container();
    if (container === undefined) return 'gone';
    if (!Number.isFinite(quota) || quota < 0) return 'refused';
    const micros = Math.round((quota * PERIOD_MICROS) / 1000);
    if (quota !== 0 && micros < MIN_QUOTA) return 'refused';
    this.expected.quota = ((micros * 1000) / PERIOD_MICROS) as Millicores;
    if (this.#current.quota === this.expected.quota) return 'unchanged';
    container.setQuota(micros);
    return 'written';
  }

  raiseMemory(limit: Bytes): WriteResult {
    const container = this.#container();
    if (container === undefined) return 'gone';
    if (!Number.isFinite(limit) || limit < 0) return 'refused';
    const old = this.#current.memory;
    const requested = pages(limit);
    if (requested === old) return 'unchanged';
    if (requested !== 0 && (old === 0 || requested < old)) return 'refused';
    return this.#setMemory(container, requested);
  }

  lowerMemory(limit: Bytes): Promise<WriteResult> {
    return Promise.resolve(this.#lower(limit));
  }

  protectMemory(_amount: Bytes): WriteResult {
    return this.#container() === undefined ? 'gone' : 'unsupported';
  }

  read(into: Limits): boolean {
    if (this.#closed) return false;
    const container = this.#find(this.#id);
    container?.readLimits(into);
    return container !== undefined;
  }

  close(): void {
    this.#closed = true;
  }

  #lower(limit: Bytes): WriteResult {
    const container = this.#container();
    if (container === undefined) return 'gone';
    if (!Number.isFinite(limit) || limit <= 0) return 'refused';
    const old = this.#current.memory;
    const requested = pages(limit);
    if (requested === old) return 'unchanged';
    if (old !== 0 && requested > old) return 'refused';
    if (requested < container.workingSet() * MEMORY_MARGIN) return 'refused';
    return this.#setMemory(container, requested);
  }

  #setMemory(container: SimContainer, limit: Bytes): WriteResult {
    container.setMemory(limit);
    this.expected.memory = limit;
    return 'written';
  }

  /** Undefined if it is gone; otherwise `#current` holds its limits. */
  #container(): SimContainer | undefined {
    const container = this.#closed ? undefined : this.#find(this.#id);
    container?.readLimits(this.#current);
    return container;
  }
}

/** The kernel's counters of simulated containers. */
export class SimUsageMonitor implements UsageMonitor {
  readonly #find: FindContainer;
  readonly #memoryInUse: () => number;

  /** @param memoryInUse bytes in use on the host */
  constructor(find: FindContainer, memoryInUse: () => number) {
    this.#find = find;
    this.#memoryInUse = memoryInUse;
  }

  open({ id }: ContainerInfo): UsageProbe {
    let closed = false;
    const find = (): SimContainer | undefined => (closed ? undefined : this.#find(id));
    return {
      cpu: () => find()?.cpu() ?? -1,
      sample: (into: UsageSample) => {
        const container = find();
        container?.sample(into);
        return container !== undefined;
      },
      workingSet: () => Math.round(find()?.workingSet() ?? -1),
      resetPeak: () => find()?.resetPeak(),
      close: () => {
        closed = true;
      },
    };
  }

  hostMemoryInUse(): Bytes {
    return Math.round(this.#memoryInUse()) as Bytes;
  }
}

function pages(limit: number): Bytes {
  return (Math.floor(limit / PAGE) * PAGE) as Bytes;
}
