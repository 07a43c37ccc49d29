import type { Bytes, Clock, Micros, Millicores, Millis } from '../../../config/index.js';
import {
  emptySample,
  type Limits,
  NO_LIMIT,
  type UsageSample,
  type WriteResult,
} from '../../../openwhisk-plugin/decision/index.js';
import type {
  ContainerInfo,
  LimitHandle,
  UsageProbe,
} from '../../../openwhisk-plugin/host/ports/index.js';
import type { Machine } from './machine.js';

/** How much above the use a memory limit must stay that the kernel is asked to lower to. */
const LOWERING_MARGIN = 1.25;

/** What the kernel knows of one container: it outlives every hook. */
export class KernelCgroup {
  readonly info: ContainerInfo;
  readonly inForce: Limits;
  readonly usage: UsageSample = emptySample();
  protection = 0;
  gone = false;

  constructor(info: ContainerInfo) {
    this.info = info;
    const { shares, quota, memory } = info.user;
    this.inForce = { shares, quota, memory };
  }

  /** Uses CPU for a while; millicores it gets of what it would take. */
  run(demand: number, byMillis: number, clock: Clock): number {
    const { quota } = this.inForce;
    const got = quota === NO_LIMIT ? demand : Math.min(demand, quota);
    const before = Math.floor(this.usage.cpu / 100_000);
    this.usage.cpu = (this.usage.cpu + got * byMillis) as Micros;
    this.usage.at = clock.monotonic();
    if (quota !== NO_LIMIT) {
      this.usage.periods += byMillis / 100;
      if (got < demand)
        this.usage.throttledPeriods += Math.max(
          byMillis / 100,
          Math.floor(this.usage.cpu / 100_000) - before,
        );
    }
    return got;
  }

  get loweredWhileIdle(): string[] {
    const { user } = this.info;
    return (['shares', 'quota', 'memory'] as const)
      .filter((name) => this.inForce[name] !== user[name])
      .map((name) => `${name} ${this.inForce[name]} instead of ${user[name]}`);
  }
}

/** Open files of one hook on it: what a dead process writes goes nowhere. */
export class KernelHandle implements LimitHandle, UsageProbe {
  readonly expected: Limits;
  readonly #cgroup: KernelCgroup;
  readonly #machine: Machine;
  readonly #written: (name: keyof Limits, value: number) => void;

  constructor(
    cgroup: KernelCgroup,
    machine: Machine,
    written: (name: keyof Limits, value: number) => void,
  ) {
    this.#written = written;
    this.#cgroup = cgroup;
    this.#machine = machine;
    this.expected = { ...cgroup.inForce };
  }

  get #gone(): boolean {
    return this.#cgroup.gone || this.#machine.dead;
  }

  setShares(shares: number): WriteResult {
    return this.#set('shares', shares);
  }

  setQuota(quota: Millicores): WriteResult {
    return this.#set('quota', quota);
  }

  raiseMemory(limit: Bytes): WriteResult {
    if (!this.#gone && limit !== NO_LIMIT && limit < this.#cgroup.inForce.memory) return 'refused';
    return this.#set('memory', limit);
  }

  async lowerMemory(limit: Bytes): Promise<WriteResult> {
    if (!this.#gone && this.#cgroup.usage.workingSet * LOWERING_MARGIN > limit) return 'refused';
    return this.#set('memory', limit);
  }

  protectMemory(amount: Bytes): WriteResult {
    if (this.#gone) return 'gone';
    if (this.#cgroup.protection === amount) return 'unchanged';
    this.#cgroup.protection = amount;
    return 'written';
  }

  read(into: Limits): boolean {
    if (this.#gone) return false;
    Object.assign(into, this.#cgroup.inForce);
    return true;
  }

  cpu(): number {
    return this.#gone ? -1 : this.#cgroup.usage.cpu;
  }

  workingSet(): number {
    return this.#gone ? -1 : this.#cgroup.usage.workingSet;
  }

  sample(into: UsageSample): boolean {
    if (this.#gone) return false;
    const { usage } = this.#cgroup;
    Object.assign(into, usage);
    into.periods = Math.floor(usage.periods);
    into.throttledPeriods = Math.floor(usage.throttledPeriods);
    // The reading is now, whenever it last ran.
    into.at = this.#machine.monotonic() as Millis;
    return true;
  }

  resetPeak(): void {}

  close(): void {}

  #set(name: keyof Limits, value: number): WriteResult {
    if (this.#gone) return 'gone';
    const { inForce } = this.#cgroup;
    const changed = inForce[name] !== value;
    Object.assign(inForce, { [name]: value });
    Object.assign(this.expected, { [name]: value });
    if (!changed) return 'unchanged';
    this.#written(name, value);
    return 'written';
  }
}
