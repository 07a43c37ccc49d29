import type {
  Bytes,
  Cancel,
  Clock,
  Micros,
  Millicores,
  Millis,
  Random,
  Timers,
} from '../../config/index.js';
import { coresToMillicores, SeededRandom } from '../../config/index.js';
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
import type { Plan } from '../workload/index.js';
import { SimLimitWriter, SimUsageMonitor } from './cgroup.js';
import { SimHost } from './host.js';
import { type HostOptions, type HostWatcher, hostOptions } from './options.js';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const BRIDGE: Bridge = { interfaceName: 'docker0', networkName: 'bridge', gateway: '172.17.0.1' };
const FIRST_ADDRESS = addressOf('172.17.0.2');
/** Wall clock of a simulated run's first instant, us: fixed, so that runs repeat to the byte. */
const EPOCH_MICROS = 1_700_000_000_000_000;

export interface SimPlatformOptions {
  /** Changes to `hostOptions(workload)`. */
  readonly host?: Partial<HostOptions>;
  /** Seeds identifiers of containers and activations; demand has its own seed, in the plan. */
  readonly seed?: number;
  /** Wall clock at simulated time 0, us; give the real one where people read the stamps. */
  readonly epochMicros?: number;
  /** Real time of day of a simulated time, both us; absent: simulated time is all there is. */
  readonly timeOfDay?: (simulatedMicros: number) => number;
  /** Told when an activation is over for its caller, after tap and engine have been. */
  readonly onActivationEnd?: (call: number, outcome: number) => void;
}

/**
 * `Platform` on one simulated invoker host: the hook cannot tell it from a real one. Time is the
 * host's; nothing happens until somebody runs the host (`Player`, or `host.run`). Engine and tap
 * speak only after they were started, as real ones do.
 */
export class SimPlatform implements Platform, HostWatcher {
  readonly name = 'simulated';
  readonly host: SimHost;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly engine: ContainerEngine;
  readonly tap: Tap;
  readonly limits: SimLimitWriter;
  readonly usage: SimUsageMonitor;

  readonly #epoch: number;
  readonly #ids: Random;
  readonly #onEnd: ((call: number, outcome: number) => void) | undefined;
  readonly #slots = new Map<string, number>();
  readonly #infos: (ContainerInfo | undefined)[] = [];
  readonly #addresses = new Set<number>();
  readonly #pending = new Map<number, { readonly run: () => void; readonly period: number }>();
  #timerCount = 0;
  #engineListener: ContainerEngineListener | undefined;
  #tapListener: TapListener | undefined;
  #watched = false;
  readonly #bound = new Map<number, number>();
  readonly #activationIds: string[] = [];
  /** Slots whose last request was `/init`. */
  readonly #fresh: boolean[] = [];
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
    contentLength: 0,
  };

  constructor(plan: Plan, options: SimPlatformOptions = {}) {
    this.#epoch = options.epochMicros ?? EPOCH_MICROS;
    const { timeOfDay } = options;
    this.#ids = new SeededRandom(options.seed ?? plan.workload.seed).fork('identifiers');
    this.#onEnd = options.onActivationEnd;
    this.host = new SimHost(plan, hostOptions(plan.workload, options.host), this);
    this.clock = {
      monotonic: () => (this.host.now / 1000) as Millis,
      wall: () => this.#wall(),
      ...(timeOfDay === undefined
        ? {}
        : { timeOfDay: (stamp: Micros) => Math.round(timeOfDay(stamp - this.#epoch)) as Micros }),
    };
    this.timers = {
      after: (delay, run) => this.#arm(delay, run, 0),
      every: (period, run) => this.#arm(period, run, period),
    };
    const slotOf = (id: string): number => this.#slots.get(id) ?? -1;
    this.limits = new SimLimitWriter(this.host, slotOf);
    this.usage = new SimUsageMonitor(this.host, slotOf);
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

  /** Engine's view of a running container, by slot. */
  infoOf(slot: number): ContainerInfo | undefined {
    return this.#infos[slot];
  }

  containerStarted(slot: number): void {
    const c = this.host.table.columns;
    const fn = this.host.functionOf(slot);
    let address = FIRST_ADDRESS;
    // The lowest free one, so that an address goes to another container at once, as on a real
    // bridge.
    while (this.#addresses.has(address)) address++;
    this.#addresses.add(address);
    c.address[slot] = address;
    const id = this.#hex() + this.#hex();
    const memory = c.limit[slot]! as Bytes;
    const info: ContainerInfo = {
      id,
      name: containerName(c.number[slot]!, fn.name),
      address: dottedOf(address),
      bridge: BRIDGE.interfaceName,
      pid: 10_000 + c.number[slot]!,
      startedAt: this.#wall(),
      paused: false,
      user: {
        shares: c.weight[slot]!,
        quota: ((c.quota[slot]! * 1000) / c.period[slot]!) as Millicores,
        memory,
        memoryAndSwap: memory,
        periodMicros: c.period[slot]!,
      },
    };
    this.#infos[slot] = info;
    this.#slots.set(id, slot);
    this.#activationIds[slot] = this.#hex();
    this.#engineListener?.containerStarted(info);
  }

  containerEnded(slot: number): void {
    const info = this.#infos[slot];
    if (info === undefined) return;
    this.#infos[slot] = undefined;
    this.#slots.delete(info.id);
    this.#addresses.delete(this.host.table.columns.address[slot]!);
    this.#engineListener?.containerEnded(info.id);
  }

  containerPaused(slot: number, paused: boolean): void {
    const info = this.#infos[slot];
    if (info !== undefined) this.#engineListener?.containerPaused(info.id, paused);
  }

  containerOom(slot: number): void {
    const info = this.#infos[slot];
    if (info !== undefined) this.#engineListener?.containerOom(info.id);
  }

  request(slot: number, init: boolean): void {
    const fn = this.host.functionOf(slot);
    const c = this.host.table.columns;
    // `/init` and the first `/run` are of one activation; every later `/run` is of its own.
    if (!init && !this.#fresh[slot]) this.#activationIds[slot] = this.#hex();
    this.#fresh[slot] = init;
    if (!this.#sees(slot)) return;
    this.#identity.action = fn.name;
    this.#identity.version = fn.version;
    this.#identity.activationId = this.#activationIds[slot]!;
    this.#identity.deadline = (this.#wall() + fn.timeoutMs * 1000) as Micros;
    this.#request.connection = c.connection[slot]!;
    this.#request.address = c.address[slot]!;
    this.#request.kind = init ? 'init' : 'run';
    this.#request.at = this.#wall();
    this.#request.contentLength = 512;
    this.#tapListener!.request(this.#request);
  }

  answer(slot: number, status: number): void {
    if (!this.#sees(slot)) return;
    const c = this.host.table.columns;
    this.#tapListener!.answer(c.connection[slot]!, c.address[slot]!, status, this.#wall());
  }

  closed(slot: number, reset: boolean): void {
    if (!this.#sees(slot)) return;
    const c = this.host.table.columns;
    this.#tapListener!.closed(c.connection[slot]!, c.address[slot]!, reset, this.#wall());
  }

  activationEnded(call: number, _slot: number, outcome: number): void {
    this.#onEnd?.(call, outcome);
  }

  timer(id: number): void {
    const entry = this.#pending.get(id);
    if (entry === undefined) return;
    if (entry.period > 0)
      this.host.schedule(this.host.now + Math.max(1, Math.round(entry.period * 1000)), id);
    else this.#pending.delete(id);
    entry.run();
  }

  async #startEngine(listener: ContainerEngineListener): Promise<void> {
    this.#engineListener = listener;
    listener.bridgesChanged([BRIDGE]);
    for (let slot = 0; slot < this.#infos.length; slot++) {
      const info = this.#infos[slot];
      if (info !== undefined) listener.containerStarted(info);
    }
    listener.reconciled();
  }

  #facts(): HostFacts {
    return {
      cpu: coresToMillicores(this.host.options.cores),
      memory: this.host.options.memoryBytes as Bytes,
      cgroupVersion: 1,
      cgroupDriver: 'cgroupfs',
      engineVersion: 'simulated',
      apiVersion: '1.41',
    };
  }

  /**
   * A packet is seen on a watched bridge, at an address that is bound, to a container no younger
   * than the packet.
   */
  #sees(slot: number): boolean {
    if (this.#tapListener === undefined || !this.#watched) return false;
    const since = this.#bound.get(this.host.table.columns.address[slot]!);
    return since !== undefined && since <= this.#wall();
  }

  #arm(delay: Millis, run: () => void, period: number): Cancel {
    const id = ++this.#timerCount;
    this.#pending.set(id, { run, period });
    this.host.schedule(this.host.now + Math.max(period > 0 ? 1 : 0, Math.round(delay * 1000)), id);
    return () => {
      this.#pending.delete(id);
    };
  }

  #wall(): Micros {
    return (this.#epoch + this.host.now) as Micros;
  }

  /**
   * 32 hexadecimal digits, as OpenWhisk's activation ids and the halves of Docker's container ids.
   */
  #hex(): string {
    let text = '';
    for (let i = 0; i < 4; i++)
      text += this.#ids.below(4_294_967_296).toString(16).padStart(8, '0');
    return text;
  }
}

/**
 * `wsk0_N_namespace_action`; what is no letter, digit or underscore is lost, as OpenWhisk's own
 * names lose it.
 */
export function containerName(number: number, action: string): string {
  const parts = action.split('/');
  return `wsk0_${number}_${parts[1]}_${parts.at(-1)}`.replace(/[^A-Za-z0-9_]/g, '');
}
