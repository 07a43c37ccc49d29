import {
  type Bytes,
  type Cancel,
  type Clock,
  coresToMillicores,
  defaultConfig,
  MIB,
  type Micros,
  type Millicores,
  type Millis,
  type Random,
  SeededRandom,
  type Timers,
} from '../../config/index.js';
import {
  addressOf,
  type Bridge,
  type ContainerEngine,
  type ContainerEngineListener,
  type ContainerInfo,
  dottedOf,
  type HostFacts,
  type Identity,
  type Platform,
  type Tap,
  type TapListener,
  type TapRequest,
} from '../../openwhisk-plugin/host/ports/index.js';
import {
  type ActivationRecorder,
  Cluster,
  ClusterOutcome,
  type ClusterShape,
  ContainerStatus,
  DEFAULT_CLUSTER,
  type LimitController,
  PERIOD_MICROS,
  StartKind,
} from '../engine/index.js';
import { type Plan, PlanStream, type Workload, type WorkloadFunction } from '../workload/index.js';
import { SimLimitWriter, SimUsageMonitor } from './cgroup.js';
import { SimContainer } from './sim-container.js';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const BRIDGE: Bridge = { interfaceName: 'docker0', networkName: 'bridge', gateway: '172.17.0.1' };
const FIRST_ADDRESS = addressOf('172.17.0.2');
/** Wall clock of a simulated run's first instant, us: fixed, so that runs repeat to the byte. */
const EPOCH_MICROS = 1_700_000_000_000_000;
/** The only host of the cluster. */
const HOST = 0;
/** What the platform puts into the cluster's timeline. */
const Event = { timer: 0, pause: 1, evict: 2 } as const;
const NO_LEVELS = { harvested: 0, borrowed: 0, demand: 0 };

export interface SimPlatformOptions {
  /** Changes to OpenWhisk's default settings on the host that the workload names. */
  readonly host?: Partial<ClusterShape>;
  /** Seeds identifiers of containers and activations; demand has its own seed, in the plan. */
  readonly seed?: number;
  /** Wall clock at simulated time 0, us; the real one if people read the stamps. */
  readonly epochMicros?: number;
  /** Real time of day of a simulated time, both us; absent: simulated time is all there is. */
  readonly timeOfDay?: (simulatedMicros: number) => number;
  /** Called when an activation is over for its caller, after tap and engine have been told. */
  readonly recorder?: ActivationRecorder;
}

/**
 * `Platform` on one simulated invoker host: the hook cannot tell it from a real one. Time is the
 * host's; nothing happens until `run` is called (`Player`). Engine and tap report only after they
 * were started, as real ones do.
 */
export class SimPlatform implements Platform {
  readonly name = 'simulated';
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly engine: ContainerEngine;
  readonly tap: Tap;
  readonly limits: SimLimitWriter;
  readonly usage: SimUsageMonitor;

  readonly #shape: ClusterShape;
  readonly #functions: readonly WorkloadFunction[];
  readonly #activations: PlanStream;
  readonly #epoch: number;
  readonly #ids: Random;
  readonly #byId = new Map<string, SimContainer>();
  /** By the engine's index. */
  readonly #containers: (SimContainer | undefined)[] = [];
  readonly #addresses = new Set<number>();
  readonly #pending = new Map<number, { readonly run: () => void; readonly period: number }>();
  #timerCount = 0;
  #containerCount = 0;
  #connections = 0;
  #engineListener: ContainerEngineListener | undefined;
  #tapListener: TapListener | undefined;
  #watched = false;
  readonly #bound = new Map<number, number>();
  readonly #identity: Mutable<Identity> = {
    action: '',
    version: '',
    activationId: '',
    deadline: 0 as Micros,
  };
  readonly #request: Mutable<TapRequest> = {
    connection: 0,
    address: 0,
    kind: 'run',
    identity: this.#identity,
    at: 0 as Micros,
    contentLength: 512,
  };

  constructor(plan: Plan, options: SimPlatformOptions = {}) {
    const { timeOfDay } = options;
    this.#epoch = options.epochMicros ?? EPOCH_MICROS;
    this.#ids = new SeededRandom(options.seed ?? plan.workload.seed).fork('identifiers');
    this.#functions = plan.workload.functions;
    this.#activations = new PlanStream(plan);
    this.#shape = { ...shapeOf(plan.workload), ...options.host };
    this.cluster = new Cluster({
      activations: this.#activations,
      shape: this.#shape,
      mode: 'quota',
      seed: plan.workload.seed,
      seriesBuckets: 1,
      warmUpMicros: 0,
      failures: [],
      limitChanges: [],
      recorder: options.recorder ?? null,
      sloFactor: defaultConfig.decision.sloFactor,
      progress: null,
      endless: true,
    });
    this.cluster.limitController = this.#controller();
    this.clock = {
      monotonic: () => (this.now / 1000) as Millis,
      wall: () => this.#wall(),
      ...(timeOfDay === undefined
        ? {}
        : { timeOfDay: (stamp: Micros) => Math.round(timeOfDay(stamp - this.#epoch)) as Micros }),
    };
    this.timers = {
      after: (delay, run) => this.#arm(delay, run, 0),
      every: (period, run) => this.#arm(period, run, period),
    };
    this.limits = new SimLimitWriter((id) => this.#byId.get(id));
    this.usage = new SimUsageMonitor(
      (id) => this.#byId.get(id),
      () => this.#memoryInUse(),
    );
    this.engine = {
      start: (listener) => this.#startEngine(listener),
      stop: async () => {
        this.#engineListener = undefined;
      },
      facts: async () => this.#facts(),
    };
    this.tap = {
      start: (listener) => {
        this.#tapListener = listener;
      },
      watch: (bridges) => {
        this.#watched = bridges.some((bridge) => bridge.interfaceName === BRIDGE.interfaceName);
        if (this.#watched) this.#tapListener?.listening(BRIDGE.interfaceName);
      },
      bind: (address, startedAt) => {
        this.#bound.set(address, startedAt);
      },
      unbind: (address) => {
        this.#bound.delete(address);
      },
      stop: async () => {
        this.#tapListener = undefined;
      },
    };
  }

  /** Simulated time, integer us. */
  get now(): number {
    return this.cluster.now;
  }

  /** Time of the next event, us. */
  get nextAt(): number {
    this.cluster.refresh(HOST);
    return this.cluster.nextAt;
  }

  /** All activations have arrived and are over (never, while they repeat). */
  get finished(): boolean {
    return this.cluster.finished;
  }

  /** Play the plan again and again; to be set before the last activation has arrived. */
  set repeat(value: boolean) {
    this.#activations.repeat = value;
  }

  /** Handles everything up to and including `until`. */
  run(until: number): void {
    // Limits may have been changed since it ran last.
    this.cluster.refresh(HOST);
    this.cluster.run(until);
  }

  /** The running containers. */
  get containers(): Iterable<SimContainer> {
    return this.#byId.values();
  }

  /** What the engine reports, as the container engine and the tap of a host would see it. */
  #controller(): LimitController {
    const none = (): void => {};
    return {
      containerStarted: (index) => {
        const container = this.#start(index);
        this.#engineListener?.containerStarted(container.info);
        this.#requested(container, 'init');
      },
      initEnded: (index) => {
        const container = this.#containers[index]!;
        const { columns: k } = this.cluster.containers;
        container.phaseEnded(k.first[index]!, k.resident[index]!);
        this.#answered(container);
      },
      runStarted: (activation) => {
        const { columns: c } = this.cluster.activations;
        const container = this.#containers[c.container[activation]!]!;
        // `/init` and the first `/run` are of one activation.
        if (c.start[activation] === StartKind.warm) container.activationId = this.#hex();
        if (container.paused) this.#pause(container, false);
        this.#requested(container, 'run');
      },
      runEnded: (activation, outcome) => this.#runEnded(activation, outcome),
      containerEnded: (index) => this.#ended(index),
      due: (kind, id) => this.#due(kind, id),
      crossed: none,
      revises: none,
      rateChanges: none,
      levels: () => NO_LEVELS,
    };
  }

  #start(index: number): SimContainer {
    const { columns: k } = this.cluster.containers;
    let address = FIRST_ADDRESS;
    // The lowest free one, so that an address is reused at once, as on a real bridge.
    while (this.#addresses.has(address)) address++;
    this.#addresses.add(address);
    const number = ++this.#containerCount;
    const memory = k.limit[index]! as Bytes;
    const info: ContainerInfo = {
      id: this.#hex() + this.#hex(),
      name: containerName(number, this.#functions[k.fn[index]!]!.name),
      address: dottedOf(address),
      bridge: BRIDGE.interfaceName,
      pid: 10_000 + number,
      startedAt: this.#wall(),
      paused: false,
      user: {
        shares: k.weight[index]!,
        quota: ((k.quota[index]! * 1000) / PERIOD_MICROS) as Millicores,
        memory,
        memoryAndSwap: memory,
        periodMicros: PERIOD_MICROS,
      },
    };
    const container = new SimContainer(this.cluster, index, info, address, this.#hex());
    this.#containers[index] = container;
    this.#byId.set(info.id, container);
    return container;
  }

  #runEnded(activation: number, outcome: number): void {
    const container = this.#containers[this.cluster.activations.columns.container[activation]!]!;
    container.phaseEnded(activation, this.cluster.invokers.limits.retainedBy(activation));
    if (outcome === ClusterOutcome.success) {
      this.#answered(container);
      const { pauseGraceMs, idleMs } = this.#shape;
      this.#schedule(pauseGraceMs, Event.pause, container.index);
      this.#schedule(pauseGraceMs + idleMs, Event.evict, 0);
    } else if (outcome === ClusterOutcome.outOfMemory) {
      container.oomKills++;
      this.#engineListener?.containerOom(container.info.id);
    }
  }

  /** Its address is free again before the engine reports the end, as Docker does it. */
  #ended(index: number): void {
    const container = this.#containers[index];
    if (container === undefined) return;
    if (container.connection !== 0) this.#closed(container, true);
    this.#containers[index] = undefined;
    this.#byId.delete(container.info.id);
    this.#addresses.delete(container.address);
    this.#engineListener?.containerEnded(container.info.id);
  }

  #due(kind: number, id: number): void {
    if (kind === Event.timer) this.#runTimer(id);
    else if (kind === Event.evict) this.cluster.invokers.memoryAdmission.expire(HOST, this.now);
    else {
      const { columns: k } = this.cluster.containers;
      const idle = k.status[id] === ContainerStatus.ready && k.active[id] === 0;
      if (idle && k.idleAt[id] === this.now - this.#shape.pauseGraceMs * 1000)
        this.#pause(this.#containers[id]!, true);
    }
    this.cluster.refresh(HOST);
  }

  #runTimer(id: number): void {
    const entry = this.#pending.get(id);
    if (entry === undefined) return;
    if (entry.period > 0) this.#schedule(Math.max(0.001, entry.period), Event.timer, id);
    else this.#pending.delete(id);
    entry.run();
  }

  #arm(delay: Millis, run: () => void, period: number): Cancel {
    const id = ++this.#timerCount;
    this.#pending.set(id, { run, period });
    this.#schedule(period > 0 ? Math.max(0.001, delay) : delay, Event.timer, id);
    return () => {
      this.#pending.delete(id);
    };
  }

  #schedule(delayMs: number, kind: number, id: number): void {
    this.cluster.scheduleLimitEvent(this.now + Math.round(delayMs * 1000), kind, id);
  }

  #pause(container: SimContainer, paused: boolean): void {
    container.paused = paused;
    this.#engineListener?.containerPaused(container.info.id, paused);
  }

  #requested(container: SimContainer, kind: 'init' | 'run'): void {
    container.phaseStarts();
    container.connection = ++this.#connections;
    if (!this.#sees(container)) return;
    const { name, version, timeoutMs } =
      this.#functions[this.cluster.containers.columns.fn[container.index]!]!;
    this.#identity.action = name;
    this.#identity.version = version;
    this.#identity.activationId = container.activationId;
    this.#identity.deadline = (this.#wall() + timeoutMs * 1000) as Micros;
    this.#request.connection = container.connection;
    this.#request.address = container.address;
    this.#request.kind = kind;
    this.#request.at = this.#wall();
    this.#tapListener!.request(this.#request);
  }

  #answered(container: SimContainer): void {
    const { connection, address } = container;
    if (this.#sees(container)) this.#tapListener!.answer(connection, address, 200, this.#wall());
    this.#closed(container, false);
  }

  #closed(container: SimContainer, reset: boolean): void {
    const { connection, address } = container;
    container.connection = 0;
    if (this.#sees(container)) this.#tapListener!.closed(connection, address, reset, this.#wall());
  }

  /**
   * A packet is seen on a watched bridge, at an address that is bound, to a container no younger
   * than the packet.
   */
  #sees({ address }: SimContainer): boolean {
    if (this.#tapListener === undefined || !this.#watched) return false;
    const since = this.#bound.get(address);
    return since !== undefined && since <= this.#wall();
  }

  async #startEngine(listener: ContainerEngineListener): Promise<void> {
    this.#engineListener = listener;
    listener.bridgesChanged([BRIDGE]);
    for (const { info, paused } of this.containers)
      listener.containerStarted(paused ? { ...info, paused } : info);
    listener.reconciled();
  }

  #facts(): HostFacts {
    return {
      cpu: coresToMillicores(this.#shape.cores),
      memory: (this.#shape.memoryMiB * MIB) as Bytes,
      cgroupVersion: 1,
      cgroupDriver: 'cgroupfs',
      engineVersion: 'simulated',
      apiVersion: '1.41',
    };
  }

  #memoryInUse(): number {
    let sum = this.#shape.systemMemoryMiB * MIB;
    for (const container of this.containers) sum += container.workingSet();
    return sum;
  }

  #wall(): Micros {
    return (this.#epoch + this.now) as Micros;
  }

  /** 32 hexadecimal digits, as activation ids and the halves of container ids have. */
  #hex(): string {
    let text = '';
    for (let i = 0; i < 4; i++)
      text += this.#ids.below(4_294_967_296).toString(16).padStart(8, '0');
    return text;
  }
}

/** One host as the workload names it. */
function shapeOf({ host }: Workload): ClusterShape {
  return {
    ...DEFAULT_CLUSTER,
    hosts: 1,
    cores: host.cores,
    memoryMiB: host.memoryMiB,
    userMemoryMiB: host.userMemoryMiB,
  };
}

/**
 * `wsk0_N_namespace_action`; OpenWhisk drops every character that is no letter, digit or
 * underscore.
 */
export function containerName(number: number, action: string): string {
  const parts = action.split('/');
  return `wsk0_${number}_${parts[1]}_${parts.at(-1)}`.replace(/[^A-Za-z0-9_]/g, '');
}
