import { type RunningAgentHost, runAgentHost } from '../../../agents/host/index.js';
import { SHARDS } from '../../../agents/host/sharing/index.js';
import { createManager } from '../../../agents/managers/index.js';
import { type Broker, subjects, wildcards } from '../../../broker/index.js';
import { type RunningAggregator, runAggregator } from '../../../broker/mean-field/index.js';
import {
  decodeMeanField,
  decodeTarget,
  type MeanField,
  type Target,
} from '../../../broker/messages/index.js';
import {
  type Clock,
  type Millicores,
  mebibytes,
  millis,
  type Random,
  SeededRandom,
  systemClock,
  systemTimers,
  type Timers,
} from '../../../config/index.js';
import { ManualTime } from '../../support/manual-time.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { InvokerHost } from './invoker-host.js';
import { type Flakiness, FlakyBroker, Machine } from './machine.js';

export const CALM: Flakiness = { delay: 2, lost: 0 };
const STEP = 10;
const CAP = { cpu: 4000 as Millicores, memory: mebibytes(1024) };

interface Running {
  readonly stop: () => Promise<void>;
}

/** A process of Gleaner's that can be killed, held, cut off and started again. */
export class Part<T extends Running = Running> {
  readonly name: string;
  readonly #world: World;
  readonly #start: (machine: Machine, broker: FlakyBroker, life: number) => T;
  #bootCount = 0;
  now: { readonly machine: Machine; readonly broker: FlakyBroker; readonly process: T } | null =
    null;

  constructor(
    name: string,
    world: World,
    start: (machine: Machine, broker: FlakyBroker, life: number) => T,
  ) {
    this.name = name;
    this.#world = world;
    this.#start = start;
  }

  start(): void {
    if (this.now) return;
    const machine = this.#world.machine();
    const broker = this.#world.connect(machine);
    this.now = { machine, broker, process: this.#start(machine, broker, ++this.#bootCount) };
  }

  kill(): void {
    if (!this.now) return;
    this.now.machine.dead = true;
    this.#world.ending.push(this.now.broker.close());
    this.now = null;
  }
}

/** What carries messages: a broker in memory, or NATS servers. */
export interface Net {
  connect(): Broker;
  takeDown(): void;
  bringUp(): void;
}

export interface RealNet {
  readonly net: Net;
  /** Length of a mean-field step, ms. */
  readonly interval: number;
}

/**
 * Two invoker hosts with the real hook, two agent hosts, two aggregators, on one broker in memory
 * and in virtual time, in one process. Everything but the kernel, Docker, the tap and NATS is the
 * product's own code.
 */
export class World {
  readonly time: Clock & Timers;
  readonly net: Net;
  readonly interval: number;
  /** Containers without a quota, as a stock OpenWhisk makes them: the hook sets weights. */
  readonly weights: boolean;
  readonly random: Random;
  readonly hosts: readonly InvokerHost[];
  readonly agents: readonly Part<RunningAgentHost>[];
  readonly aggregators: readonly Part<RunningAggregator>[];
  /** Work of processes that were killed: to be waited for in the end. */
  readonly ending: Promise<unknown>[] = [];
  readonly problems: string[] = [];
  flakiness = CALM;
  field: MeanField | null = null;
  /** Answers to each observation, while all is calm. */
  readonly answers = new Map<string, number>();
  targets = 0;
  readonly #manual: ManualTime | null;
  #ticking: NodeJS.Timeout | undefined;
  #connections = 0;
  /** By function and epoch: who has spoken under it. */
  readonly #authors = new Map<string, string>();

  /** Without `real`: in virtual time, over a broker in memory. */
  constructor(seed: number, real?: RealNet) {
    this.#manual = real ? null : new ManualTime();
    this.time = this.#manual ?? { ...systemClock, ...systemTimers };
    this.net = real?.net ?? new MemoryBus(this.#manual!);
    this.interval = real?.interval ?? 1000;
    this.weights = seed % 4 === 0;
    this.random = new SeededRandom(seed);
    this.hosts = ['invoker-a', 'invoker-b'].map((name) => new InvokerHost(name, this));
    this.agents = ['agents-1', 'agents-2'].map(
      (host) =>
        new Part(host, this, (machine, broker, life) =>
          runAgentHost({
            broker,
            clock: machine,
            timers: machine,
            random: this.random.fork(`${host} ${life}`),
            manager: createManager('greedy', { cap: CAP }),
            intervalMs: this.interval,
            host,
            boot: `${host}-${life}`,
          }),
        ),
    );
    this.aggregators = ['aggregator-1', 'aggregator-2'].map(
      (host) =>
        new Part(host, this, (machine, broker, life) =>
          runAggregator({
            broker,
            clock: machine,
            timers: machine,
            intervalMs: this.interval,
            host,
            boot: `${host}-${life}`,
          }),
        ),
    );
    const listener = this.net.connect();
    listener.subscribe(wildcards.targets, ({ data }) => {
      const decoded = decodeTarget(data);
      if (decoded.ok) this.#target(decoded.message);
    });
    listener.subscribe(subjects.meanField, ({ data }) => {
      const decoded = decodeMeanField(data);
      if (decoded.ok) this.field = decoded.message;
    });
  }

  machine(rate = 0.98 + 0.04 * this.random.next()): Machine {
    return new Machine(this.time, rate, 1e7 * this.random.next());
  }

  connect(machine: Machine): FlakyBroker {
    return new FlakyBroker(
      this.net.connect(),
      machine,
      this.time,
      this.random,
      () => this.flakiness,
    );
  }

  connection(): number {
    return ++this.#connections;
  }

  async start(): Promise<void> {
    for (const host of this.hosts) host.start();
    await Promise.all(this.hosts.map((host) => host.started));
    for (const part of this.parts) part.start();
    if (!this.#manual) this.#resumeAll();
    await this.pass(200);
  }

  get parts(): readonly Part[] {
    return [...this.agents, ...this.aggregators];
  }

  async pass(by: number): Promise<void> {
    if (!this.#manual) {
      await new Promise((resolve) => setTimeout(resolve, by));
      return;
    }
    for (let i = 0; i < by; i += STEP) {
      this.#manual.advance(millis(STEP));
      for (const host of this.hosts) host.tick(STEP);
      for (let k = 0; k < 40; k++) await Promise.resolve();
      // Files are the only thing here that takes real time.
      if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** In real time the kernels go on whatever else is waited for. */
  #resumeAll(): void {
    let last = performance.now();
    this.#ticking = setInterval(() => {
      const now = performance.now();
      for (const host of this.hosts) host.tick(now - last);
      last = now;
    }, STEP);
  }

  #target({ function: fn, epoch, author, echo }: Target): void {
    if (author.host.startsWith('forger')) return;
    this.targets++;
    const key = `${fn} ${epoch}`;
    const known = this.#authors.get(key);
    if (known !== undefined && known !== author.boot) {
      this.problems.push(`${fn} has two owners under epoch ${epoch}: ${known} and ${author.boot}`);
    }
    this.#authors.set(key, author.boot);
    const question = `${fn} ${echo.host} ${echo.boot} ${echo.observedAt}`;
    this.answers.set(question, (this.answers.get(question) ?? 0) + 1);
  }

  /** All faults end; everything that is dead is started again. */
  async calm(): Promise<void> {
    this.flakiness = CALM;
    this.net.bringUp();
    for (const part of this.parts) {
      part.start();
      part.now!.broker.cut = false;
      part.now!.machine.resume();
    }
    for (const host of this.hosts) {
      host.engineDelay = 0;
      host.releaseEngine();
      host.start();
      if (host.broker) host.broker.cut = false;
      host.machine?.resume();
    }
    await Promise.all(this.hosts.map((host) => host.started));
    await this.pass(500);
  }

  /** What is promised, looked at after calm has come back. */
  async verdict(): Promise<string[]> {
    await this.pass(9000);
    const accepted = this.hosts.map(acceptedBy);
    this.answers.clear();
    // Three intervals.
    await this.pass(3 * this.interval);
    const found = this.problems;
    for (const [i, host] of this.hosts.entries()) {
      const now = acceptedBy(host);
      if (!(now > accepted[i]!))
        found.push(`${host.name}: no decision in three intervals (${accepted[i]} -> ${now})`);
    }
    for (const [question, count] of this.answers) {
      if (count > 1) found.push(`${count} answers to the observation ${question}`);
    }
    const owned = this.agents.map((part) => part.now!.process.ownedShards);
    if (owned.reduce((sum, n) => sum + n, 0) !== SHARDS)
      found.push(`shards owned: ${owned.join(' + ')}`);
    const publishing = this.aggregators.filter((part) => part.now!.process.publishing).length;
    if (publishing !== 1) found.push(`${publishing} aggregators publish`);
    if (this.field?.batches.length !== 2 || this.field.hosts.length !== 2)
      found.push(
        `the mean field has ${this.field?.batches.length} agent hosts and ` +
          `${this.field?.hosts.length} invokers`,
      );
    for (const host of this.hosts) host.calling = false;
    for (let i = 0; i < 20 && this.hosts.some((host) => host.running > 0); i++)
      await this.pass(500);
    // A cold-start boost lasts ten seconds at most.
    await this.pass(11_000);
    // Files take real time, more of it on a busy machine.
    for (let i = 0; i < 200 && this.hosts.some((host) => host.unexplained().length > 0); i++) {
      await this.pass(200);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const host of this.hosts) {
      for (const { cgroup } of host.containers.values()) {
        if (cgroup.inForce.quota !== cgroup.info.user.quota)
          found.push(`${host.name}, nothing runs: ${cgroup.loweredWhileIdle}`);
      }
      found.push(...host.unexplained(), ...host.problems);
      host.hook?.toggleKillSwitch();
    }
    await this.pass(500);
    for (const host of this.hosts) {
      for (const { cgroup } of host.containers.values()) {
        if (cgroup.loweredWhileIdle.length > 0)
          found.push(`${host.name}, kill switch: ${cgroup.loweredWhileIdle}`);
      }
    }
    return found;
  }

  async stop(): Promise<void> {
    clearInterval(this.#ticking);
    for (const part of this.parts) part.kill();
    for (const host of this.hosts) await host.stop();
    await Promise.allSettled(this.ending);
    for (const host of this.hosts) host.remove();
  }
}

/** Targets that the host's hook has taken in this life. */
export const acceptedBy = ({ hook }: InvokerHost): number =>
  (hook?.figures().targets.accepted as number | undefined) ?? Number.NaN;
