import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Broker } from '../../../broker/index.js';
import {
  type Bytes,
  type Config,
  configSchema,
  type Micros,
  type Millis,
  mebibytes,
  millicores,
  millis,
  SeededRandom,
} from '../../../config/index.js';
import { runHook } from '../../../openwhisk-plugin/daemon/index.js';
import type { RunningHook } from '../../../openwhisk-plugin/daemon/run-hook.js';
import { NO_LIMIT } from '../../../openwhisk-plugin/decision/index.js';
import { addressOf, type ContainerInfo } from '../../../openwhisk-plugin/host/ports/index.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { type FakeCgroup, FakePlatform } from './fake-platform.js';

export interface ContainerOptions {
  readonly name?: string;
  readonly address?: string;
  readonly shares?: number;
  readonly sharesAreRequest?: boolean;
  readonly quota?: number;
  readonly memory?: Bytes;
  readonly bridge?: string;
}

/** A hook on a fake host with what a test needs to play invoker, container, kernel and agent. */
export class HookRig {
  readonly platform = new FakePlatform();
  readonly bus = new MemoryBus();
  /** The hook's client, and one for tests to act as another process. */
  readonly broker = this.bus.connect();
  readonly other = this.bus.connect();
  readonly lines: { level: string; fields: object; message: string }[] = [];
  readonly folder = temporaryFolder('hook');
  readonly config: Config;
  hook!: RunningHook;
  #connection = 0;
  #container = 0;
  #activation = 0;

  constructor(overrides: (config: Config) => void = () => undefined) {
    const config = structuredClone(configSchema.parse({})) as Config;
    Object.assign(config, { mode: 'enforce' });
    Object.assign(config.hook, { stateDir: this.folder, hostName: 'host-a' });
    // The thresholds that the tests calculate with; the defaults may change.
    Object.assign(config.decision, { controlShare: 0, thetaUser: 0.9, thetaSpike: 0.8 });
    overrides(config);
    this.config = config;
  }

  async start(broker: Broker | null = this.broker, configFile?: string): Promise<this> {
    const note = (level: string) => (fields: object, message: string) => {
      this.lines.push({ level, fields, message });
    };
    this.hook = await runHook({
      platform: this.platform,
      broker,
      config: this.config,
      configFile: configFile ?? null,
      logger: {
        debug: note('debug'),
        info: note('info'),
        warn: note('warn'),
        error: note('error'),
      },
      random: new SeededRandom(1),
      boot: 'boot-1',
    });
    return this;
  }

  /**
   * A container as OpenWhisk makes it: 256 MB, shares 128 (user-memory 2048 MB), no quota unless
   * asked for.
   */
  info(options: ContainerOptions = {}): ContainerInfo {
    const n = ++this.#container;
    const memory = options.memory ?? mebibytes(256);
    return {
      id: n.toString(16).padStart(64, 'c'),
      name: options.name ?? `wsk0_${n}_guest_hello`,
      address: options.address ?? `172.17.0.${n + 1}`,
      bridge: options.bridge ?? 'docker0',
      pid: 1000 + n,
      startedAt: this.platform.time.wall(),
      paused: false,
      user: {
        shares: options.shares ?? 128,
        quota: millicores(options.quota ?? NO_LIMIT),
        memory,
        memoryAndSwap: memory,
        periodMicros: 100_000,
        sharesAreRequest: options.sharesAreRequest ?? false,
      },
    };
  }

  /** Starts a container, and answers its `/init` after 20 ms unless told otherwise. */
  container(options: ContainerOptions = {}, init = true): FakeContainer {
    const info = this.info(options);
    this.platform.listener.containerStarted(info);
    const container = new FakeContainer(this, info);
    if (init) container.init();
    return container;
  }

  /** What the audit log has; after a flush, such as the hook's stop. */
  auditLines(file = 'audit.jsonl'): Record<string, unknown>[] {
    return readFileSync(join(this.config.hook.stateDir, file), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Author, cause and reason of each change of mode in the audit log. */
  modeChanges(file?: string): unknown[][] {
    return this.auditLines(file)
      .filter(({ resource }) => resource === 'mode')
      .map(({ who, why, reason = '' }) => [who, why, reason]);
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

export interface CallOptions {
  readonly action?: string;
  readonly version?: string;
  readonly connection?: number;
  /** The kernel's stamp lies this far back, ms. */
  readonly late?: number;
  /** Time limit of the action, ms. */
  readonly limit?: number;
  /** Bytes of the body. */
  readonly payload?: number;
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
    const connection = this.sendInit();
    this.rig.advance(20);
    this.answer(connection);
  }

  /** Sends `/init`; returns its connection. `action` null: its body was not captured to the end. */
  sendInit(
    action: string | null = null,
    activationId = this.rig.activationId(),
    name = 'hello',
  ): number {
    const connection = this.rig.connection();
    const deadline = (this.rig.platform.time.wall() + 60_000_000) as Micros;
    const identity = action === null ? null : { action, version: '0.0.1', activationId, deadline };
    const at = this.rig.platform.time.wall();
    const head = {
      connection,
      address: this.address,
      kind: 'init' as const,
      identity,
      at,
      contentLength: 100,
    };
    this.rig.platform.packets.request({ ...head, initName: name });
    return connection;
  }

  /** Sends `/run`; returns its connection. */
  run(options: CallOptions = {}): number {
    const connection = options.connection ?? this.rig.connection();
    const limit = ((options.limit ?? 60_000) * 1000) as Micros;
    this.#head(
      'run',
      connection,
      {
        action: options.action ?? '/guest/hello',
        version: options.version ?? '0.0.1',
        activationId: this.rig.activationId(),
        deadline: (this.rig.platform.time.wall() + limit) as Micros,
      },
      options.late ?? 0,
      options.payload,
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
    this.rig.platform.packets.answer(
      connection,
      this.address,
      status,
      this.rig.platform.time.wall(),
    );
  }

  closed(connection: number, reset = false): void {
    this.rig.platform.packets.closed(
      connection,
      this.address,
      reset,
      this.rig.platform.time.wall(),
    );
  }

  end(): void {
    this.cgroup.gone = true;
    this.rig.platform.listener.containerEnded(this.info.id);
  }

  /**
   * Uses CPU (millicores) and memory for a while, in steps of 10 ms, as the kernel would count
   * them.
   */
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
  call(
    forMillis: number,
    cpu: number,
    options: CallOptions = {},
    memory: Bytes = mebibytes(40),
  ): number {
    const connection = this.run(options);
    this.work(forMillis, cpu, memory);
    this.answer(connection);
    return connection;
  }

  /** The quota in force in the middle of a call. */
  quotaOfCall(): number {
    const connection = this.run();
    const { quota } = this.cgroup.inForce;
    this.work(60, 200);
    this.answer(connection);
    return quota;
  }

  #head(
    kind: 'init' | 'run',
    connection: number,
    identity: { action: string; version: string; activationId: string; deadline: Micros } | null,
    late: number,
    contentLength = 100,
  ): void {
    const at = (this.rig.platform.time.wall() - late * 1000) as Micros;
    this.rig.platform.packets.request({
      connection,
      address: this.address,
      kind,
      identity,
      at,
      contentLength,
    });
  }
}
