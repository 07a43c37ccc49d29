import { MIB, type Micros, type Millis, type Random } from '../../config/index.js';
import type { EndReason, ReportPort } from '../../openwhisk-plugin/control/index.js';
import {
  closeWindow,
  type DecisionSettings,
  type Policies,
  type Run,
} from '../../openwhisk-plugin/decision/index.js';
import { Stop } from './activations.js';
import type { Cluster } from './cluster.js';
import { WINDOW_MICROS } from './crossing.js';
import { HarvestCounts } from './harvest-counts.js';
import type { LimitController, StepListener } from './limit-controller.js';
import { EngineLimitWriter } from './limit-writer.js';
import {
  EngineActivation,
  EngineContainer,
  type EngineRun,
  FunctionOnHost,
} from './managed-container.js';
import { ManagedHost } from './managed-host.js';
import { ClusterOutcome } from './recorder.js';
import { EngineUsage } from './usage.js';
import { UserLimitTable } from './user-limits.js';

/** Bytes of a median payload: streams give payloads as multiples of their function's median. */
const MEDIAN_PAYLOAD = 1024;
/** The simulated functions have one version; another nominal memory makes another revision. */
const VERSION = '0.0.1';

/** Stamps of boosts are negative: the control plane has the others. */
const boostStamp = (serial: number): number => -serial;

/** How a tap would see each outcome. A timed out or killed container ends during the run. */
const REASONS: Readonly<Record<number, EndReason>> = {
  [ClusterOutcome.success]: 'answer',
  [ClusterOutcome.timeout]: 'container_end',
  [ClusterOutcome.outOfMemory]: 'container_end',
  [ClusterOutcome.lost]: 'stopped',
};

export interface HookOptions {
  readonly settings: DecisionSettings;
  /** One set a host: policies may learn. */
  readonly policies: () => Policies;
  readonly random: Random;
}

/**
 * The engine's adapter of each host's `HostController`: what the tap, the sampler and the limit
 * writer do on a real host the engine tells here, exactly and at once. Mode is `enforce`.
 */
export class HookLimitController implements LimitController {
  readonly hosts: readonly ManagedHost[];
  readonly counts = new HarvestCounts();
  control: StepListener | null = null;
  readonly #cluster: Cluster;
  readonly #settings: DecisionSettings;
  /** By host, then by function; a host's are made with its first. */
  readonly #records: (FunctionOnHost | undefined)[][];
  readonly #users: UserLimitTable;
  readonly #usage: EngineUsage;
  readonly #writer: EngineLimitWriter;
  /** By place in the engine's columns. */
  readonly #containers: (EngineContainer | undefined)[] = [];
  readonly #activations: (EngineActivation | undefined)[] = [];
  /** To be used again. */
  readonly #spare: EngineActivation[] = [];
  readonly #endedContainers: EngineContainer[] = [];
  #serial = 0;

  constructor(cluster: Cluster, { settings, policies, random }: HookOptions) {
    this.#cluster = cluster;
    this.#settings = settings;
    this.#users = new UserLimitTable(cluster.functions);
    this.#usage = new EngineUsage(cluster);
    this.#writer = new EngineLimitWriter(cluster, settings);
    const { shape } = cluster.parts;
    this.#records = new Array(shape.hosts);
    const oracle = {
      remainingCpu: (run: Run) => this.#usage.remainingCpu((run as EngineRun).activation),
    };
    const ports = { limits: this.#writer, usage: this.#usage, reports: this.#reports };
    this.hosts = Array.from(
      { length: shape.hosts },
      (_, host) =>
        new ManagedHost(settings, shape, policies(), random.fork(`host ${host}`), oracle, ports),
    );
  }

  knownRecord(fn: number, host: number): FunctionOnHost | undefined {
    return this.#records[host]?.[fn];
  }

  containerStarted(index: number, now: number): void {
    const { columns: k } = this.#cluster.containers;
    const fn = k.fn[index]!;
    const hostIndex = k.host[index]!;
    const host = this.#enter(hostIndex, now);
    const ms = (now / 1000) as Millis;
    const spec = this.#cluster.functions.specs[fn]!;
    const user = this.#users.of(fn);
    const record = this.#recordOf(fn, hostIndex, spec.name);
    const ended = this.#endedContainers.pop();
    const state = host.decider.container(user, ended?.state);
    const container = ended ?? new EngineContainer(state);
    container.begin(index, ++this.#serial, record);
    this.#containers[index] = container;
    host.controller.containerStarted(container);
    host.controller.beginBoost(container, ms);
    const { state: history } = host.controller.identify(container, spec.name, VERSION, ms)!;
    host.started(record);
    history.rightSizeFactor = Math.max(1, (spec.memoryMiB * MIB) / user.memory);
    history.configuredSlo = spec.sloMs ?? Number.NaN;
    this.#scheduleBoostEnd(container, now);
  }

  initEnded(index: number, now: number): void {
    const container = this.#containers[index];
    if (container !== undefined) this.#endBoost(container, 'init_answered', now);
  }

  containerEnded(index: number, now: number): void {
    const container = this.#containers[index];
    // Made and removed before its `/init`.
    if (container === undefined) return;
    this.#containers[index] = undefined;
    const host = this.#enter(container.record.host, now);
    container.ended = true;
    host.controller.containerEnded(container);
    if (container.running === 0) this.#endedContainers.push(container);
  }

  runStarted(a: number, now: number): void {
    const { columns: c } = this.#cluster.activations;
    const container = this.#containers[c.container[a]!]!;
    const { record, state } = container;
    const revision = container.revision!;
    const host = this.#enter(record.host, now);
    const ms = (now / 1000) as Millis;
    const activation = this.#spare.pop() ?? new EngineActivation(revision.state, state);
    activation.begin(container, revision, Math.round(c.payload[a]! * MEDIAN_PAYLOAD));
    const { run } = activation;
    run.activation = a;
    this.#activations[a] = activation;
    container.enter(activation);
    record.receive(ms);
    host.started(record);
    host.controller.onRequest(activation, ms);
    host.running++;
    host.demand += run.cpu.demand;
    c.windowAt[a] = now;
    c.windowCpu[a] = c.cpuUsed[a]!;
    c.reviseAt[a] = 1000 * host.decider.revisesAt(run, 0);
  }

  crossed(a: number, now: number): void {
    const activation = this.#activations[a];
    if (activation === undefined) return;
    const host = this.#enter(activation.container.record.host, now);
    // Asked once for each limit: the answer would be the same.
    if (this.#cluster.activations.columns.stopKind[a] === Stop.memoryTrip)
      this.#cluster.invokers.limits.forget(a);
    host.controller.onSample(activation, this.#usage.read(activation), (now / 1000) as Millis);
    this.#startWindow(activation.run);
  }

  revises(a: number, now: number): void {
    const activation = this.#activations[a];
    if (activation === undefined) return;
    const { columns: c } = this.#cluster.activations;
    const { controller, decider } = this.#enter(c.host[a]!, now);
    const used = c.done[a]! / 1000;
    c.reviseAt[a] = Number.POSITIVE_INFINITY;
    controller.revise(activation, used, (now / 1000) as Millis);
    c.reviseAt[a] = 1000 * decider.revisesAt(activation.run, used);
  }

  rateChanges(a: number, now: number): void {
    const { columns: c } = this.#cluster.activations;
    if (now - c.windowAt[a]! < WINDOW_MICROS) return;
    const activation = this.#activations[a];
    if (activation === undefined) return;
    this.#usage.now = now;
    const { container, run } = activation;
    const cpu = this.#usage.cpu(container.index, a);
    closeWindow(run, cpu, now / 1000, this.#settings.minimumWindow);
    this.#startWindow(run);
  }

  runEnded(a: number, outcome: number, now: number): void {
    const activation = this.#activations[a];
    if (activation === undefined) return;
    const { columns: c } = this.#cluster.activations;
    const { container, run } = activation;
    const { record } = container;
    const host = this.#enter(record.host, now);
    const ms = (now / 1000) as Millis;
    this.#activations[a] = undefined;
    c.tripRate[a] = Number.POSITIVE_INFINITY;
    container.leave(activation);
    if (outcome === ClusterOutcome.outOfMemory) container.isOomKilled = true;
    activation.reason = REASONS[outcome]!;
    activation.status = 200;
    activation.clean = outcome === ClusterOutcome.success;
    activation.duration = (now - c.runAt[a]!) as Micros;
    activation.initMicros = (c.runAt[a]! - c.tapAt[a]!) as Micros;
    activation.cold = activation.initMicros > 0;
    host.controller.onEnd(activation, ms);
    host.running--;
    host.demand -= run.cpu.demand;
    if (record.running === 0 && host.demand < 1e-6) host.demand = 0;
    if (c.counted[a] === 1)
      this.counts.ended(record.fn, run, this.#cluster.accounts.outcomeStatistics);
    this.control?.stepped(record, ms);
    // Fewer share the limits now.
    this.#writer.watch(container);
    this.#spare.push(activation);
  }

  due(target: number, stamp: number, now: number): void {
    if (stamp >= 0) {
      this.control?.due(target, stamp, now);
      return;
    }
    const container = this.#containers[target];
    if (container === undefined || !container.boosted || boostStamp(container.serial) !== stamp)
      return;
    const { host } = container.record;
    this.#setTime(now);
    this.hosts[host]!.controller.boostExpired(container, (now / 1000) as Millis);
    this.#scheduleBoostEnd(container, now);
    this.#cluster.refresh(host);
  }

  levels(): { readonly harvested: number; readonly borrowed: number; readonly demand: number } {
    let harvested = 0;
    let borrowed = 0;
    let demand = 0;
    for (const host of this.hosts) {
      harvested += host.decider.cpuPool.harvested;
      borrowed += host.decider.cpuPool.borrowed;
      demand += host.demand;
    }
    return { harvested, borrowed, demand };
  }

  /** Brings a host's accounts up to now. */
  #enter(host: number, now: number): ManagedHost {
    const managed = this.hosts[host]!;
    managed.count(now / 1000);
    this.#setTime(now);
    return managed;
  }

  #setTime(now: number): void {
    this.#usage.now = now;
    this.#writer.now = now;
  }

  #scheduleBoostEnd({ index, serial }: EngineContainer, now: number): void {
    const at = now + 1000 * this.#settings.boostTime;
    this.#cluster.scheduleLimitEvent(at, index, boostStamp(serial));
  }

  #endBoost(container: EngineContainer, why: string, now: number): void {
    this.#setTime(now);
    this.hosts[container.record.host]!.controller.endBoost(container, why);
  }

  readonly #reports: ReportPort<EngineContainer> = {
    safeguarded: ({ run }) => {
      this.counts.trips++;
      this.#startWindow(run as EngineRun);
    },
    revoked: () => {
      this.counts.revoked++;
    },
    decided: ignore,
    ended: ignore,
    stepped: ignore,
    boosted: ignore,
    lent: ignore,
    lentLater: ignore,
    oomKilled: ignore,
  };

  /**
   * The engine watches the decider's window, which may have begun again at the end of another run
   * in the container.
   */
  #startWindow(run: EngineRun): void {
    const { columns: c } = this.#cluster.activations;
    const a = run.activation;
    const at = Math.round(1000 * run.windowAt);
    if (c.windowAt[a] === at) return;
    c.windowAt[a] = at;
    c.windowCpu[a] = c.cpuUsed[a]!;
  }

  #recordOf(fn: number, host: number, action: string): FunctionOnHost {
    // With its length: V8 would make an array that is filled here and there a slow hash table.
    this.#records[host] ??= new Array(this.#cluster.functions.count);
    const records = this.#records[host];
    let record = records[fn];
    if (record === undefined) {
      const managed = this.hosts[host]!;
      record = new FunctionOnHost(fn, host, action, managed.controller, managed.targets);
      records[fn] = record;
      managed.add(record);
    }
    return record;
  }
}

const ignore = (): void => undefined;
