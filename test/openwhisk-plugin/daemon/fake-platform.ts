import {
  type Bytes,
  type Micros,
  type Millicores,
  mebibytes,
  millicores,
} from '../../../config/index.js';
import {
  emptySample,
  type Limits,
  NO_LIMIT,
  type UsageSample,
  type WriteResult,
} from '../../../openwhisk-plugin/decision/index.js';
import type {
  Bridge,
  ContainerEngine,
  ContainerEngineListener,
  ContainerInfo,
  HostFacts,
  LimitHandle,
  LimitWriter,
  Platform,
  Tap,
  TapListener,
  UsageMonitor,
  UsageProbe,
} from '../../../openwhisk-plugin/host/ports/index.js';
import { ManualTime } from '../../support/manual-time.js';

const BRIDGE: Bridge = {
  interfaceName: 'docker0',
  networkName: 'bridge',
  gateway: '172.17.0.1',
};

/** The kernel's side of one container: what is in force, and what the container has used. */
export class FakeCgroup implements LimitHandle, UsageProbe {
  readonly inForce: { shares: number; quota: number; memory: number };
  readonly expected: Limits;
  readonly usage: UsageSample = emptySample();
  /** Every successful write, in order. */
  readonly writes: string[] = [];
  gone = false;
  closed = false;
  /** What the next quota writes answer instead of being written. */
  quotaResult: WriteResult | null = null;

  constructor(info: ContainerInfo) {
    this.inForce = { shares: info.user.shares, quota: info.user.quota, memory: info.user.memory };
    this.expected = { shares: info.user.shares, quota: info.user.quota, memory: info.user.memory };
  }

  setShares(shares: number): WriteResult {
    return this.#set('shares', shares);
  }

  setQuota(quota: Millicores): WriteResult {
    return this.quotaResult ?? this.#set('quota', quota);
  }

  raiseMemory(limit: Bytes): WriteResult {
    if (limit !== NO_LIMIT && limit < this.inForce.memory) return 'refused';
    return this.#set('memory', limit);
  }

  async lowerMemory(limit: Bytes): Promise<WriteResult> {
    if (this.usage.workingSet * 1.25 > limit) return 'refused';
    return this.#set('memory', limit);
  }

  /** `memory.low`; null: there is none, as on v1. */
  protection: number | null = null;

  protectMemory(amount: Bytes): WriteResult {
    if (this.protection === null) return 'unsupported';
    if (this.protection === amount) return 'unchanged';
    this.protection = amount;
    return 'written';
  }

  read(into: Limits): boolean {
    if (this.gone) return false;
    Object.assign(into, this.inForce);
    return true;
  }

  cpu(): number {
    return this.gone ? -1 : this.usage.cpu;
  }

  sample(into: UsageSample): boolean {
    if (this.gone) return false;
    Object.assign(into, this.usage);
    return true;
  }

  workingSet(): number {
    return this.gone ? -1 : this.usage.workingSet;
  }

  resetPeak(): void {}

  close(): void {
    this.closed = true;
  }

  #set(name: keyof Limits, value: number): WriteResult {
    if (this.gone) return 'gone';
    if (this.inForce[name] === value) {
      Object.assign(this.expected, { [name]: value });
      return 'unchanged';
    }
    Object.assign(this.inForce, { [name]: value });
    Object.assign(this.expected, { [name]: value });
    this.writes.push(`${name}=${value}`);
    return 'written';
  }
}

/** Engine, tap, limits and usage of a host that exists in memory only; time is moved by hand. */
export class FakePlatform implements Platform, ContainerEngine, Tap, LimitWriter, UsageMonitor {
  readonly name = 'simulated';
  readonly time = new ManualTime();
  readonly clock = this.time;
  readonly timers = this.time;
  readonly engine = this;
  readonly tap = this as unknown as Tap;
  readonly limits = this as unknown as LimitWriter;
  readonly usage = this as unknown as UsageMonitor;
  readonly cgroups = new Map<string, FakeCgroup>();
  readonly bound = new Map<number, number>();
  /** Containers that run before the hook starts. */
  readonly before: ContainerInfo[] = [];
  /** Running containers that are not managed. */
  readonly others: ContainerInfo[] = [];
  bridges: readonly Bridge[] = [];
  listener!: ContainerEngineListener;
  packets!: TapListener;
  memoryInUse = mebibytes(1024);
  stopped: string[] = [];
  /** False: its tap never begins to listen. */
  listens = true;
  facts_: HostFacts = {
    cpu: millicores(8000),
    memory: mebibytes(16384),
    cgroupVersion: 1,
    cgroupDriver: 'cgroupfs',
    engineVersion: '20.10.24',
    apiVersion: '1.41',
  };

  /** Engine or tap: told apart by what the listener can hear. */
  start(listener: ContainerEngineListener & TapListener): Promise<void> {
    if (typeof listener.request === 'function') {
      this.packets = listener;
      return Promise.resolve();
    }
    this.listener = listener;
    listener.bridgesChanged([BRIDGE]);
    for (const info of this.before) listener.containerStarted(info);
    listener.reconciled();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.stopped.push('stop');
  }

  async facts(): Promise<HostFacts> {
    return this.facts_;
  }

  async inspect(id: string): Promise<ContainerInfo | null> {
    return this.others.find((one) => one.id === id) ?? null;
  }

  watch(bridges: readonly Bridge[]): void {
    this.bridges = bridges;
    if (this.listens) this.packets.listening(null);
  }

  bind(address: number, startedAt: Micros): void {
    this.bound.set(address, startedAt);
  }

  unbind(address: number): void {
    this.bound.delete(address);
  }

  open(container: ContainerInfo): FakeCgroup {
    let cgroup = this.cgroups.get(container.id);
    if (cgroup === undefined) {
      cgroup = new FakeCgroup(container);
      this.cgroups.set(container.id, cgroup);
    }
    return cgroup;
  }

  expressible(shares: number): number {
    return shares;
  }

  hostMemoryInUse(): Bytes {
    return this.memoryInUse;
  }
}
