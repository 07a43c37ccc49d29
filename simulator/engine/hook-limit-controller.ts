import { type Bytes, MIB, type Micros, type Millis, type Random } from '../../config/index.js';
import { Revision } from '../../openwhisk-plugin/control/index.js';
import {
  type ContainerState,
  closeWindow,
  type DecisionSettings,
  type GrantChange,
  type Outcome,
  type Policies,
  type Run,
} from '../../openwhisk-plugin/decision/index.js';
import { Stop } from './activations.js';
import { PERIOD_MICROS } from './cfs.js';
import type { Cluster } from './cluster.js';
import { WINDOW_MICROS } from './crossing.js';
import { FunctionOnHost } from './function-on-host.js';
import { HarvestCounts } from './harvest-counts.js';
import type { LimitController, StepListener } from './limit-controller.js';
import { EngineLimitWriter } from './limit-writer.js';
import { ClusterRun, type ManagedContainer } from './managed-container.js';
import { ManagedHost } from './managed-host.js';
import { ClusterOutcome } from './recorder.js';
import { EngineUsage } from './usage.js';
import { UserLimitTable } from './user-limits.js';

/**
 * Size of a median payload, bytes: streams tell payloads as multiples of their function's median.
 */
const MEDIAN_PAYLOAD = 1024;
/** The simulated functions have one version; another nominal memory tells revisions apart. */
const VERSION = '0.0.1';

/** Stamps of the guard's own events are negative: the control side has the others. */
const boostStamp = (serial: number): number => -serial;

/** What a step is told of a run that has ended; reused. */
interface Ended {
  run: Run;
  duration: Micros;
  initMicros: Micros;
  cold: boolean;
  clean: boolean;
}

const OUTCOMES: Readonly<Record<number, Outcome>> = {
  [ClusterOutcome.success]: 'success',
  // The invoker gives the container up: the hook sees it end in the middle of a run.
  [ClusterOutcome.timeout]: 'failure',
  [ClusterOutcome.outOfMemory]: 'oom',
  [ClusterOutcome.lost]: 'unknown',
};

export interface HookOptions {
  readonly settings: DecisionSettings;
  /** One set a host: policies may learn. */
  readonly policies: () => Policies;
  readonly random: Random;
}

/**
 * The hooks of all hosts of a cluster: what the tap, the sampler and the limit writer do on a real
 * one is told by the engine here, exactly and at once; what is decided, and how, is the same
 * `Decider`'s. Mode is `enforce`.
 */
export class HookLimitController implements LimitController {
  readonly hosts: readonly ManagedHost[];
  readonly counts = new HarvestCounts();
  control: StepListener | null = null;
  readonly #cluster: Cluster;
  readonly #settings: DecisionSettings;
  /** By function and host; made when the function first comes there. */
  readonly #records: (FunctionOnHost | undefined)[] = [];
  readonly #users: UserLimitTable;
  readonly #usage: EngineUsage;
  readonly #writer: EngineLimitWriter;
  /** By place. */
  readonly #containers: (ManagedContainer | undefined)[] = [];
  readonly #runs: (ClusterRun | undefined)[] = [];
  readonly #spare: ClusterRun[] = [];
  readonly #byState = new Map<ContainerState, ManagedContainer>();
  #ended: Ended | undefined;
  #serial = 0;
  #now = 0;

  constructor(cluster: Cluster, { settings, policies, random }: HookOptions) {
    this.#cluster = cluster;
    this.#settings = settings;
    this.#users = new UserLimitTable(cluster.functions);
    this.#usage = new EngineUsage(cluster);
    this.#writer = new EngineLimitWriter(cluster, settings);
    const { shape } = cluster.parts;
    const oracle = {
      remainingCpu: (run: Run) =>
        this.#usage.remainingCpu((run as ClusterRun).activation, this.#now),
    };
    this.hosts = Array.from(
      { length: shape.hosts },
      (_, host) =>
        new ManagedHost(settings, shape, policies(), random.fork(`host ${host}`), oracle),
    );
  }

  knownRecord(fn: number, host: number): FunctionOnHost | undefined {
    return this.#records[fn * this.hosts.length + host];
  }

  containerStarted(container: number, now: number): void {
    const { functions } = this.#cluster;
    const { columns: k } = this.#cluster.containers;
    const fn = k.fn[container]!;
    const hostIndex = k.host[container]!;
    const host = this.#enter(hostIndex, now);
    const { decider } = host;
    const ms = (now / 1000) as Millis;
    const user = this.#users.of(fn);
    const spec = functions.specs[fn]!;
    const history = decider.functionState(spec.name, VERSION, user, ms);
    // As hooks are told by who made the action smaller.
    history.rightSizeFactor = Math.max(1, (spec.memoryMiB * MIB) / user.memory);
    history.configuredSlo = spec.sloMs ?? Number.NaN;
    const state = decider.container(user);
    // Counters begin at zero with the container.
    state.read = true;
    const record = this.#recordOf(fn, hostIndex, spec.name);
    if (record.revision?.state !== history)
      record.revision = new Revision(record, VERSION, history);
    const managed = {
      index: container,
      serial: ++this.#serial,
      state,
      history,
      record,
      revision: record.revision,
      throttled: 0,
      boosted: true,
    };
    this.#containers[container] = managed;
    this.#byState.set(state, managed);
    this.#writer.boost(managed, decider.boost(state, ms), now);
    this.#cluster.scheduleLimitEvent(
      now + 1000 * this.#settings.boostTime,
      container,
      boostStamp(managed.serial),
    );
    this.#writeChanged(host);
  }

  initEnded(container: number, now: number): void {
    const managed = this.#containers[container];
    if (managed?.boosted) this.#endBoost(managed, now);
  }

  containerEnded(container: number, now: number): void {
    const managed = this.#containers[container];
    // Made and given up before its `/init`.
    if (managed === undefined) return;
    const host = this.#enter(managed.record.host, now);
    host.decider.containerEnded(managed.state, (now / 1000) as Millis);
    this.#containers[container] = undefined;
    this.#byState.delete(managed.state);
    this.#writeChanged(host);
  }

  runStarted(a: number, now: number): void {
    const { columns: c } = this.#cluster.activations;
    const container = c.container[a]!;
    const managed = this.#containers[container]!;
    const { state, history, record, revision } = managed;
    const host = this.#enter(record.host, now);
    const { decider } = host;
    const ms = (now / 1000) as Millis;
    const run = this.#spare.pop() ?? new ClusterRun(history, state);
    run.reset(history, state);
    run.activation = a;
    run.payload = Math.round(c.payload[a]! * MEDIAN_PAYLOAD) as Bytes;
    run.startCpu = this.#usage.cpu(container, a, now) as Micros;
    record.receive(ms);
    record.target.applyTo(run, ms);
    // Growth is measured from here: a sampler would have read it just before.
    state.last.at = ms;
    state.last.workingSet = this.#cluster.containers.columns.resident[container]! as Bytes;
    this.#runs[a] = run;
    if (history.hitUserLimit) decider.memoryLoan(state, history, ms);
    decider.start(run, ms);
    record.running++;
    record.noteStart(run, state, ms);
    revision.concurrent ||= state.concurrent;
    host.demand += run.cpu.demand;
    c.windowAt[a] = now;
    c.windowCpu[a] = c.cpuUsed[a]!;
    c.reviseAt[a] = 1000 * decider.revisesAt(run, 0);
    this.#writer.write(managed, now);
    this.#writeChanged(host);
  }

  crossed(a: number, now: number): void {
    const run = this.#runs[a];
    if (run === undefined) return;
    const { columns: c } = this.#cluster.activations;
    const managed = this.#containers[c.container[a]!]!;
    const host = this.#enter(managed.record.host, now);
    // Asked once for each limit: what it says now, it would say again.
    if (c.stopKind[a] === Stop.memoryTrip) this.#cluster.invokers.limits.forget(a);
    const action = host.decider.sample(
      run,
      this.#usage.read(managed.index, a, managed.throttled, now),
      (now / 1000) as Millis,
    );
    this.#startWindow(a, run);
    if (action === 'none') return;
    this.counts.trips++;
    this.#writer.write(managed, now);
    this.#writeChanged(host);
  }

  revises(a: number, now: number): void {
    const run = this.#runs[a];
    if (run === undefined) return;
    const { columns: c } = this.#cluster.activations;
    const { decider } = this.#enter(c.host[a]!, now);
    const used = c.done[a]! / 1000;
    c.reviseAt[a] = Number.POSITIVE_INFINITY;
    if (decider.revise(run, used))
      this.#cluster.invokers.limits.setWeight(c.container[a]!, run.shares, now);
    c.reviseAt[a] = 1000 * decider.revisesAt(run, used);
  }

  rateChanges(a: number, now: number): void {
    const { columns: c } = this.#cluster.activations;
    if (now - c.windowAt[a]! < WINDOW_MICROS) return;
    const run = this.#runs[a];
    if (run === undefined) return;
    closeWindow(
      run,
      this.#usage.cpu(c.container[a]!, a, this.#now),
      now / 1000,
      this.#settings.minimumWindow,
    );
    this.#startWindow(a, run);
  }

  runEnded(a: number, outcome: number, now: number): void {
    const run = this.#runs[a];
    if (run === undefined) return;
    const { columns: c } = this.#cluster.activations;
    const container = c.container[a]!;
    const managed = this.#containers[container]!;
    const { state, record, history } = managed;
    const host = this.#enter(record.host, now);
    const { decider } = host;
    const ms = (now / 1000) as Millis;
    this.#runs[a] = undefined;
    c.tripRate[a] = Number.POSITIVE_INFINITY;
    const sample = this.#usage.read(managed.index, a, managed.throttled, now);
    run.endCpu = sample.cpu;
    managed.throttled = sample.throttledPeriods;
    decider.sample(run, sample, ms);
    if (outcome === ClusterOutcome.outOfMemory) {
      record.step.oomKills++;
      decider.oom(history, this.#cluster.containers.columns.limit[container]! as Bytes, ms);
    }
    const duration = now - c.runAt[a]!;
    const clean = outcome === ClusterOutcome.success;
    run.cold = c.runAt[a]! > c.tapAt[a]!;
    decider.finish(run, OUTCOMES[outcome]!, duration / 1000, clean, ms);
    record.running--;
    host.demand -= run.cpu.demand;
    if (record.running === 0 && host.demand < 1e-6) host.demand = 0;
    if (c.counted[a] === 1)
      this.counts.ended(record.fn, run, this.#cluster.accounts.outcomeStatistics);
    if (this.control !== null) this.#recordStep(managed, run, a, duration, clean, ms);
    if (state.runs.length === 0) this.#writer.restore(managed, now);
    else this.#writer.write(managed, now);
    this.#writeChanged(host);
    this.#spare.push(run);
  }

  due(target: number, stamp: number, now: number): void {
    if (stamp >= 0) {
      this.control?.due(target, stamp, now);
      return;
    }
    const managed = this.#containers[target];
    if (managed === undefined || !managed.boosted || boostStamp(managed.serial) !== stamp) return;
    this.#endBoost(managed, now);
    this.#cluster.refresh(managed.record.host);
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
    this.#now = now;
    return managed;
  }

  #endBoost(managed: ManagedContainer, now: number): void {
    this.hosts[managed.record.host]!.decider.boostEnded(managed.state);
    this.#writer.endBoost(managed, now);
  }

  readonly #writeManaged = (state: ContainerState, why: GrantChange): void => {
    const managed = this.#byState.get(state);
    if (managed === undefined || state.runs.length === 0) return;
    if (why === 'revoked') this.counts.revoked++;
    this.#writer.write(managed, this.#now);
  };

  /** Limits of others that this decision has changed. */
  #writeChanged(host: ManagedHost): void {
    host.decider.takeChanged(this.#writeManaged);
  }

  /**
   * The engine watches the decider's window: it may have begun anew at an end of another run in the
   * container.
   */
  #startWindow(a: number, run: ClusterRun): void {
    const { columns: c } = this.#cluster.activations;
    const at = Math.round(1000 * run.windowAt);
    if (c.windowAt[a] === at) return;
    c.windowAt[a] = at;
    c.windowCpu[a] = c.cpuUsed[a]!;
  }

  #recordStep(
    managed: ManagedContainer,
    run: ClusterRun,
    a: number,
    duration: number,
    clean: boolean,
    now: number,
  ): void {
    const { columns: c } = this.#cluster.activations;
    const { record } = managed;
    const init = c.runAt[a]! - c.tapAt[a]!;
    this.#ended ??= {
      run,
      duration: 0 as Micros,
      initMicros: 0 as Micros,
      cold: false,
      clean: false,
    };
    const ended = this.#ended;
    ended.run = run;
    ended.duration = duration as Micros;
    ended.initMicros = init as Micros;
    ended.cold = init > 0;
    ended.clean = clean;
    const busy = duration > 0 ? ((run.endCpu - run.startCpu) / duration) * 1000 : -1;
    const { step } = record;
    step.record(ended, !clean, busy, now);
    if (managed.state.mode === 'quota') {
      step.periods += Math.ceil(duration / PERIOD_MICROS);
      step.throttledPeriods += c.throttled[a]!;
    }
    this.control?.stepped(record, now);
  }

  #recordOf(fn: number, host: number, action: string): FunctionOnHost {
    const place = fn * this.hosts.length + host;
    let record = this.#records[place];
    if (record === undefined) {
      record = new FunctionOnHost(fn, host, action);
      this.#records[place] = record;
      this.hosts[host]!.functions.push(record);
    }
    return record;
  }
}
