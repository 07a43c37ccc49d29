import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Bytes,
  type Config,
  configSchema,
  type Micros,
  mebibytes,
  millicores,
  type Random,
} from '../../../config/index.js';
import { runHook } from '../../../openwhisk-plugin/daemon/index.js';
import type { RunningHook } from '../../../openwhisk-plugin/daemon/run-hook.js';
import { NO_LIMIT } from '../../../openwhisk-plugin/decision/index.js';
import {
  addressOf,
  type Bridge,
  type ContainerEngineListener,
  type ContainerInfo,
  type Platform,
  type TapListener,
} from '../../../openwhisk-plugin/host/ports/index.js';
import { AuditTrail } from './audit-trail.js';
import { KernelCgroup, KernelHandle } from './kernel.js';
import type { FlakyBroker, Machine } from './machine.js';
import type { World } from './world.js';

const BRIDGE: Bridge = { interfaceName: 'docker0', networkName: 'bridge', gateway: '172.17.0.1' };
/** What each function's calls take when they can, millicores; the user gives each a core. */
const DEMANDS = [150, 300, 500, 1500] as const;
const FUNCTIONS = DEMANDS.length;
const CONTAINERS = 2;
const LIMIT_MS = 8000;
/** Time from a hook's end until the supervisor restores user limits. */
const RESTORE_MS = 500;

type EngineEvent = (listener: ContainerEngineListener, reportedContainers: Set<string>) => void;

interface Activation {
  readonly action: string;
  readonly connection: number;
  readonly beganAt: number;
  /** What it takes: millicores while it runs, CPU in millicores x ms, memory. */
  readonly demand: number;
  cpuLeft: number;
  readonly cpu: number;
  readonly memory: number;
  /** It would succeed at the limits that the user asked for. */
  readonly isValid: boolean;
  lowered: boolean;
}

interface Container {
  readonly action: string;
  readonly cgroup: KernelCgroup;
  activation: Activation | null;
  /** When its next call comes. */
  nextAt: number;
  /** Since when its quota has been another than the user's with nothing running; NaN: it is not. */
  loweredIdleSince: number;
  isReported: boolean;
}

/** One life of the hook's process. */
interface Life {
  readonly machine: Machine;
  readonly broker: FlakyBroker;
  hook: RunningHook | null;
  listener: ContainerEngineListener | null;
  packets: TapListener | null;
  /** Containers that the engine has told it of: once each, as the port promises. */
  readonly reportedContainers: Set<string>;
  /** Every change of a limit that it made: by container and resource, in order. */
  readonly writes: Map<string, number[]>;
  ended: Promise<void>;
}

/**
 * An invoker's machine: its kernel, its containers with calls as OpenWhisk sends them, and the real
 * hook, which may be killed, held and started again. Time is the world's.
 */
export class InvokerHost {
  readonly name: string;
  readonly folder = mkdtempSync(join(tmpdir(), 'gleaner-world-'));
  readonly containers = new Map<string, Container>();
  readonly problems: string[] = [];
  readonly #world: World;
  readonly #random: Random;
  readonly #waiting = new Map<
    Life,
    { readonly go: () => void; readonly end: (error: Error) => void }
  >();
  #life: Life | null = null;
  /** Resolves when the last life has let go of its lock. */
  #over: Promise<unknown> = Promise.resolve();
  #bootCount = 0;
  #ids = 0;
  #wallStep = 0;
  /** Messages of an engine that hangs; null: it answers. */
  #hung: EngineEvent[] | null = null;
  /** How late an event of the engine may be, ms. */
  engineDelay = 0;
  #engineDue = 0;
  calling = true;
  activations = 0;
  /** Calls that ran below their user's quota for a while. */
  lowered = 0;
  readonly #audit = new AuditTrail(this.folder);
  /** When something last happened to the hook, to Docker or to the tap here. */
  #disturbedAt = Number.NEGATIVE_INFINITY;

  constructor(name: string, world: World) {
    this.name = name;
    this.#world = world;
    this.#random = world.random.fork(name);
    for (let i = 0; i < FUNCTIONS * CONTAINERS; i++) this.#make(i % FUNCTIONS);
  }

  get hook(): RunningHook | null {
    return this.#life?.hook ?? null;
  }

  get machine(): Machine | null {
    return this.#life?.machine ?? null;
  }

  get broker(): FlakyBroker | null {
    return this.#life?.broker ?? null;
  }

  get killSwitchFile(): string {
    return join(this.folder, 'kill-switch');
  }

  get wallStep(): number {
    return this.#wallStep;
  }

  set wallStep(step: number) {
    this.#wallStep = step;
    this.#disturbedAt = this.#world.time.monotonic();
    if (this.#life) this.#life.machine.wallStep = step;
  }

  start(): void {
    if (this.#life) return;
    // Its wall clock and its monotonic clock are one.
    const machine = this.#world.machine(1);
    machine.wallStep = this.#wallStep;
    const broker = this.#world.connect(machine);
    const life: Life = {
      machine,
      broker,
      hook: null,
      listener: null,
      packets: null,
      reportedContainers: new Set(),
      writes: new Map(),
      ended: Promise.resolve(),
    };
    this.#life = life;
    life.ended = this.#run(life);
  }

  /** Resolves when the hook runs; never, while Docker hangs. */
  get started(): Promise<void> {
    return this.#life?.ended ?? Promise.resolve();
  }

  async #run(life: Life): Promise<void> {
    const { machine, broker } = life;
    await this.#over;
    if (machine.dead) return;
    const note = (_fields: object, _message: string): void => undefined;
    const starting = runHook({
      platform: this.#platform(life),
      broker,
      config: this.#config(),
      logger: { debug: note, info: note, warn: note, error: note },
      random: this.#random.fork(`life ${this.#bootCount}`),
      boot: `${this.name}-${++this.#bootCount}`,
    });
    try {
      const hook = await starting;
      if (machine.dead) await hook.stop();
      else life.hook = hook;
    } catch (error) {
      if (!machine.dead)
        this.problems.push(`${this.name}: the hook did not start: ${String(error)}`);
    }
  }

  /**
   * As `kill -9` does; the supervisor then gives every limit back, from the engine alone, unless a
   * new hook is there first.
   */
  kill(): void {
    const life = this.#life;
    if (!life) return;
    this.#life = null;
    life.machine.dead = true;
    this.#waiting.get(life)?.end(new Error('killed'));
    // A killed process lets go of its descriptors and its lock; it writes to no cgroup any more.
    this.#over = (async () => {
      await life.hook?.stop().catch(() => undefined);
      await life.ended;
      await life.broker.close();
    })();
    this.#world.ending.push(this.#over);
    this.#world.time.after(RESTORE_MS as never, () => {
      for (const { cgroup } of this.containers.values()) {
        if (this.#life === null) Object.assign(cgroup.inForce, limitsOf(cgroup.info));
      }
    });
  }

  async stop(): Promise<void> {
    await this.#life?.ended;
    await this.#life?.hook?.stop();
    await this.#life?.broker.close();
    this.#life = null;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  // Faults.

  hangEngine(): void {
    this.#hung ??= [];
  }

  releaseEngine(): void {
    const queue = this.#hung;
    this.#hung = null;
    for (const event of queue ?? []) this.#emit(event);
    this.#emit((listener) => listener.reconciled());
    for (const { go } of this.#waiting.values()) go();
    this.#waiting.clear();
  }

  loseTap(): void {
    this.#disturbedAt = this.#world.time.monotonic();
    const { packets, machine } = this.#life ?? {};
    machine?.run(() => {
      packets?.lost('restarted', null, 'a fault');
      packets?.listening(null);
    });
  }

  /** From its next start on the audit log cannot be written, as on a disk that is full. */
  breakAudit(broken: boolean): void {
    this.#audit.break(broken);
  }

  /**
   * What a crash in the middle of a write leaves: a lock without its number, a line without its
   * end.
   */
  leaveHalfFiles(): void {
    writeFileSync(join(this.folder, 'hook.lock'), '');
    this.#audit.leaveHalfLine();
  }

  /** Another container takes the place of one, and its address at once. */
  replaceContainer(oom: boolean): void {
    const all = [...this.containers.values()];
    const killedContainer = all[this.#random.below(all.length)];
    if (!killedContainer) return;
    // What ran in it fails, and not by Gleaner.
    this.#end(killedContainer, oom);
  }

  // Time.

  tick(byMillis: number): void {
    const now = this.#world.time.monotonic();
    for (const container of [...this.containers.values()]) {
      if (container.activation) this.#work(container, container.activation, byMillis, now);
      else if (this.calling && now >= container.nextAt) this.#begin(container, now);
      this.#watch(container, now);
    }
  }

  get running(): number {
    return [...this.containers.values()].filter(({ activation }) => activation !== null).length;
  }

  #begin(container: Container, now: number): void {
    const random = this.#random;
    // Nearly always about the same, so that it is harvested; now and then all of what the user
    // gives and for long: with what is usual it would not be done in time.
    const usual = DEMANDS[Number(container.action.at(-1))]! * (0.9 + 0.2 * random.next());
    const spike = random.next() < 0.05;
    const demand = spike ? 1000 : usual;
    const atMost = (spike ? 2000 : 60) + random.below(900);
    const { user } = container.cgroup.info;
    // Most need less than they asked for, some just about it, and one in fifty more memory than the
    // user gives: his own affair.
    const share = random.next() < 0.02 ? 1.2 : 0.1 + 0.85 * random.next();
    const cpu = atMost * (user.quota === NO_LIMIT ? demand : Math.min(demand, user.quota));
    const memory = share * user.memory;
    const connection = this.#world.connection();
    const activation: Activation = {
      action: container.action,
      connection,
      beganAt: now,
      demand,
      cpuLeft: cpu,
      cpu,
      memory,
      isValid: memory < user.memory,
      lowered: false,
    };
    container.activation = activation;
    this.activations++;
    const at = this.#wall();
    const identity = {
      action: container.action,
      version: '0.0.1',
      activationId: `${this.name}-${this.activations}`,
      deadline: (at + LIMIT_MS * 1000) as Micros,
    };
    this.#packet((tap) =>
      tap.request({
        connection,
        address: this.#address(container),
        kind: 'run',
        identity,
        at,
        contentLength: 100,
      }),
    );
  }

  #work(container: Container, activation: Activation, byMillis: number, now: number): void {
    const { cgroup } = container;
    const got = cgroup.run(activation.demand, byMillis, this.#life?.machine ?? this.#world.time);
    activation.cpuLeft -= got * byMillis;
    if (!activation.lowered && cgroup.inForce.quota < cgroup.info.user.quota) {
      activation.lowered = true;
      this.lowered++;
    }
    // Grows over the first half of its work.
    const grown = Math.min(1, 2 * (1 - activation.cpuLeft / activation.cpu));
    cgroup.usage.workingSet = Math.max(
      cgroup.usage.workingSet * 0.99,
      activation.memory * grown,
      mebibytes(20),
    ) as Bytes;
    if (cgroup.usage.workingSet > cgroup.inForce.memory) {
      if (activation.isValid)
        this.#fail(activation, `killed at a memory limit of ${cgroup.inForce.memory}`);
      this.#end(container, true);
      return;
    }
    if (now - activation.beganAt > LIMIT_MS) {
      if (activation.isValid)
        this.#fail(
          activation,
          `not done within ${LIMIT_MS} ms at a quota of ${cgroup.inForce.quota}`,
        );
      this.#end(container, false);
      return;
    }
    if (activation.cpuLeft > 0) return;
    container.activation = null;
    container.nextAt = now + 40 + this.#random.below(500);
    const at = this.#wall();
    this.#packet((tap) => tap.answer(activation.connection, this.#address(container), 200, at));
  }

  #fail({ action, beganAt }: Activation, why: string): void {
    this.problems.push(
      `${this.name}: an activation of ${action} begun at ${beganAt} failed: ${why}`,
    );
  }

  /**
   * A limit is below the user's only while an activation runs. If no fault has hit this host for a
   * while, it is restored at once; otherwise an end may have been missed, which is found a second
   * after the deadline, or by the next check of idle containers.
   */
  #watch(container: Container, now: number): void {
    const { cgroup } = container;
    if (this.hook === null || this.machine?.held || this.#hung || this.engineDelay > 0)
      this.#disturbedAt = now;
    const loweredWhileIdle =
      container.activation === null && cgroup.inForce.quota < cgroup.info.user.quota;
    if (!loweredWhileIdle || this.#disturbedAt === now) {
      container.loweredIdleSince = Number.NaN;
      return;
    }
    if (Number.isNaN(container.loweredIdleSince)) container.loweredIdleSince = now;
    const found = LIMIT_MS + 2000;
    const allowed = now - this.#disturbedAt > found ? 100 : found;
    if (container.isReported || now - container.loweredIdleSince <= allowed) return;
    container.isReported = true;
    const millis = now - container.loweredIdleSince;
    this.problems.push(
      `${this.name}: a restore was lost: ${cgroup.loweredWhileIdle} for ${millis} ms`,
    );
  }

  #make(index: number): void {
    const n = ++this.#ids;
    const memory = mebibytes(128 + 128 * (index % 2));
    const info: ContainerInfo = {
      id: `${this.name}-${String(n).padStart(6, '0')}`.padEnd(64, '0'),
      name: `wsk0_${n}_guest_f${index}`,
      address: `172.17.${1 + (n >> 8)}.${n & 255}`,
      bridge: 'docker0',
      pid: 1000 + n,
      startedAt: this.#wall(),
      paused: false,
      user: {
        shares: 128,
        quota: millicores(this.#world.weights ? NO_LIMIT : 1000),
        memory,
        memoryAndSwap: memory,
        periodMicros: 100_000,
      },
    };
    const container: Container = {
      action: `/guest/f${index}`,
      cgroup: new KernelCgroup(info),
      activation: null,
      nextAt: this.#world.time.monotonic() + this.#random.below(1000),
      loweredIdleSince: Number.NaN,
      isReported: false,
    };
    this.containers.set(info.id, container);
    this.#emit((listener, reportedContainers) => {
      if (reportedContainers.has(info.id)) return;
      reportedContainers.add(info.id);
      listener.containerStarted(info);
    });
  }

  #end(container: Container, oom: boolean): void {
    const { cgroup, activation, action } = container;
    const { id } = cgroup.info;
    const at = this.#wall();
    if (oom) {
      cgroup.usage.oomKills++;
      this.#emit((listener) => listener.containerOom(id));
    }
    cgroup.gone = true;
    container.activation = null;
    this.containers.delete(id);
    if (activation)
      this.#packet((tap) => tap.closed(activation.connection, this.#address(container), true, at));
    this.#emit((listener, reportedContainers) => {
      if (reportedContainers.delete(id)) listener.containerEnded(id);
    });
    this.#make(Number(action.at(-1)));
  }

  #wall(): Micros {
    return (this.#world.time.wall() + this.#wallStep * 1000) as Micros;
  }

  #address({ cgroup }: Container): number {
    return addressOf(cgroup.info.address ?? '');
  }

  #packet(of: (tap: TapListener) => void): void {
    const life = this.#life;
    if (life?.hook) life.machine.run(() => life.packets && of(life.packets));
  }

  #emit(event: EngineEvent): void {
    if (this.#hung) {
      this.#hung.push(event);
      return;
    }
    const now = this.#world.time.monotonic();
    this.#engineDue = Math.max(this.#engineDue, now + this.engineDelay * this.#random.next());
    this.#world.time.after((this.#engineDue - now) as never, () => {
      const life = this.#life;
      life?.machine.run(() => life.listener && event(life.listener, life.reportedContainers));
    });
  }

  #answers(life: Life): Promise<void> {
    if (!this.#hung) return Promise.resolve();
    return new Promise((go, end) => this.#waiting.set(life, { go, end }));
  }

  #platform(life: Life): Platform {
    const { machine } = life;
    const open = ({ id }: ContainerInfo): KernelHandle => {
      const cgroup = this.containers.get(id)?.cgroup;
      if (!cgroup) throw new Error('the cgroup is gone');
      return new KernelHandle(cgroup, machine, (name, value) => {
        const key = `${id} ${RESOURCES[name]}`;
        const written = life.writes.get(key);
        if (written) written.push(value);
        else life.writes.set(key, [value]);
      });
    };
    return {
      name: 'simulated',
      clock: machine,
      timers: machine,
      engine: {
        facts: async () => {
          await this.#answers(life);
          return {
            cpu: millicores(8000),
            memory: mebibytes(16_384),
            cgroupVersion: 1,
            cgroupDriver: 'cgroupfs',
            engineVersion: '20.10.24',
            apiVersion: '1.41',
          };
        },
        start: async (listener) => {
          await this.#answers(life);
          listener.bridgesChanged([BRIDGE]);
          for (const { cgroup } of this.containers.values()) {
            life.reportedContainers.add(cgroup.info.id);
            listener.containerStarted(cgroup.info);
          }
          listener.reconciled();
          life.listener = listener;
        },
        stop: async () => undefined,
      },
      tap: {
        start: (listener) => {
          life.packets = listener;
        },
        watch: () => life.packets?.listening(null),
        bind: () => undefined,
        unbind: () => undefined,
        stop: async () => undefined,
      },
      limits: { open, expressible: (shares) => shares },
      usage: { open, hostMemoryInUse: () => mebibytes(1024) },
    };
  }

  #config(): Config {
    const config = structuredClone(configSchema.parse({})) as Config;
    Object.assign(config, { mode: 'enforce' });
    Object.assign(config.hook, {
      stateDir: this.folder,
      hostName: this.name,
      stepActivations: 5,
      stepS: 1,
    });
    Object.assign(config.decision, { controlShare: 0, targetStaleMs: 3000 });
    Object.assign(config.decision.policy, { quota: 'target' });
    return config;
  }

  /** Changes of limits by this hook that its audit log does not explain. */
  unexplained(): string[] {
    if (!this.#life) return [];
    return this.#audit.unexplained(this.#life.writes).map((what) => `${this.name}: ${what}`);
  }
}

const RESOURCES = { shares: 'cpu.shares', quota: 'cpu.quota', memory: 'memory' } as const;

const limitsOf = ({ user: { shares, quota, memory } }: ContainerInfo) => ({
  shares,
  quota,
  memory,
});
