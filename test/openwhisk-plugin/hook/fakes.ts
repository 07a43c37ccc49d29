import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Broker, MemoryBus } from '../../../broker/index.js';
import {
  type Bytes,
  type Config,
  configSchema,
  ManualTime,
  type Micros,
  type Millicores,
  type Millis,
  mebibytes,
  millicores,
  millis,
  SeededRandom,
} from '../../../config/index.js';
import {
  addressOf,
  type Bridge,
  type ContainerEngine,
  type ContainerEngineListener,
  type ContainerInfo,
  emptySample,
  type HostFacts,
  type LimitHandle,
  type Limits,
  type LimitWriter,
  NO_LIMIT,
  type Platform,
  type RunningHook,
  runHook,
  type Tap,
  type TapListener,
  type UsageMonitor,
  type UsageProbe,
  type UsageSample,
  type WriteResult,
} from '../../../openwhisk-plugin/index.js';

export const BRIDGE: Bridge = { interfaceName: 'docker0', networkName: 'bridge', gateway: '172.17.0.1' };

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
  bridges: readonly Bridge[] = [];
  listener!: ContainerEngineListener;
  packets!: TapListener;
  memoryInUse = mebibytes(1024);
  stopped: string[] = [];
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

  watch(bridges: readonly Bridge[]): void {
    this.bridges = bridges;
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

export interface ContainerWish {
  readonly name?: string;
  readonly address?: string;
  readonly shares?: number;
  readonly quota?: number;
  readonly memory?: Bytes;
  readonly bridge?: string;
}

/** A hook on a fake host with what a test needs to play invoker, container, kernel and agent. */
export class HookRig {
  readonly platform = new FakePlatform();
  readonly bus = new MemoryBus();
  /** The hook's client, and one for a test to speak as somebody else. */
  readonly broker = this.bus.connect();
  readonly other = this.bus.connect();
  readonly lines: { level: string; fields: object; message: string }[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), 'gleaner-hook-'));
  readonly config: Config;
  hook!: RunningHook;
  #connection = 0;
  #container = 0;
  #activation = 0;

  constructor(overrides: (config: Config) => void = () => undefined) {
    const config = structuredClone(configSchema.parse({})) as Config;
    Object.assign(config, { mode: 'enforce' });
    Object.assign(config.hook, { stateDir: this.folder, hostName: 'host-a' });
    Object.assign(config.decision, { controlShare: 0 });
    overrides(config);
    this.config = config;
  }

  async start(broker: Broker | null = this.broker): Promise<this> {
    const note = (level: string) => (fields: object, message: string) => {
      this.lines.push({ level, fields, message });
    };
    this.hook = await runHook({
      platform: this.platform,
      broker,
      config: this.config,
      logger: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') },
      random: new SeededRandom(1),
      boot: 'boot-1',
    });
    return this;
  }

  /** A container as OpenWhisk makes it: 256 MB, shares 128 (user-memory 2048 MB), no quota unless asked for. */
  info(wish: ContainerWish = {}): ContainerInfo {
    const n = ++this.#container;
    const memory = wish.memory ?? mebibytes(256);
    return {
      id: n.toString(16).padStart(64, 'c'),
      name: wish.name ?? `wsk0_${n}_guest_hello`,
      address: wish.address ?? `172.17.0.${n + 1}`,
      bridge: wish.bridge ?? 'docker0',
      pid: 1000 + n,
      startedAt: this.platform.time.wall(),
      paused: false,
      user: {
        shares: wish.shares ?? 128,
        quota: millicores(wish.quota ?? NO_LIMIT),
        memory,
        memoryAndSwap: memory,
        periodMicros: 100_000,
      },
    };
  }

  /** Starts a container, and answers its `/init` after 20 ms unless told otherwise. */
  container(wish: ContainerWish = {}, init = true): FakeContainer {
    const info = this.info(wish);
    this.platform.listener.containerStarted(info);
    const container = new FakeContainer(this, info);
    if (init) container.init();
    return container;
  }

  connection(): number {
    return ++this.#connection;
  }

  activationId(): string {
    return (++this.#activation).toString(16).padStart(32, '0');
  }

  advance(by: number): void {
    this.platform.time.advance(millis(by));
  }
}

export interface CallWish {
  readonly action?: string;
  readonly version?: string;
  readonly connection?: number;
  /** The kernel's stamp lies this far back, ms. */
  readonly late?: number;
  /** Time limit of the action, ms. */
  readonly limit?: number;
}

export class FakeContainer {
  readonly rig: HookRig;
  readonly info: ContainerInfo;
  readonly address: number;

  constructor(rig: HookRig, info: ContainerInfo) {
    this.rig = rig;
    this.info = info;
    this.address = addressOf(info.address ?? '');
  }

  get cgroup(): FakeCgroup {
    return this.rig.platform.cgroups.get(this.info.id)!;
  }

  init(): void {
    const connection = this.rig.connection();
    this.#head('init', connection, null, 0);
    this.rig.advance(20);
    this.answer(connection);
  }

  /** Sends `/run`; returns its connection. */
  run(wish: CallWish = {}): number {
    const connection = wish.connection ?? this.rig.connection();
    const limit = ((wish.limit ?? 60_000) * 1000) as Micros;
    this.#head(
      'run',
      connection,
      {
        action: wish.action ?? '/guest/hello',
        version: wish.version ?? '0.0.1',
        activationId: this.rig.activationId(),
        deadline: (this.rig.platform.time.wall() + limit) as Micros,
      },
      wish.late ?? 0,
    );
    return connection;
  }

  /** A `/run` whose head could not be read. */
  unreadable(): number {
    const connection = this.rig.connection();
    this.#head('run', connection, null, 0);
    return connection;
  }

  answer(connection: number, status = 200): void {
    this.rig.platform.packets.answer(connection, this.address, status, this.rig.platform.time.wall());
  }

  closed(connection: number, reset = false): void {
    this.rig.platform.packets.closed(connection, this.address, reset, this.rig.platform.time.wall());
  }

  end(): void {
    this.cgroup.gone = true;
    this.rig.platform.listener.containerEnded(this.info.id, this.rig.platform.time.wall());
  }

  /** Uses CPU (millicores) and memory for a while, in steps of 10 ms, as the kernel would count them. */
  work(forMillis: number, cpu: number, memory: Bytes = mebibytes(40)): void {
    const { usage } = this.cgroup;
    usage.workingSet = memory;
    for (let left = forMillis; left > 0; left -= 10) {
      const slice = Math.min(10, left);
      usage.cpu = (usage.cpu + cpu * slice) as Micros;
      usage.at = (this.rig.platform.time.monotonic() + slice) as Millis;
      this.rig.advance(slice);
    }
  }

  /** One whole call: head, work, answer. */
  call(forMillis: number, cpu: number, wish: CallWish = {}, memory: Bytes = mebibytes(40)): number {
    const connection = this.run(wish);
    this.work(forMillis, cpu, memory);
    this.answer(connection);
    return connection;
  }

  #head(
    kind: 'init' | 'run',
    connection: number,
    identity: { action: string; version: string; activationId: string; deadline: Micros } | null,
    late: number,
  ): void {
    const at = (this.rig.platform.time.wall() - late * 1000) as Micros;
    this.rig.platform.packets.request({ connection, address: this.address, kind, identity, at, contentLength: 100 });
  }
}
