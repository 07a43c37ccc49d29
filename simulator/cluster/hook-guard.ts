import { type Bytes, MIB, type Micros, type Millis, type Random } from '../../config/index.js';
import {
  type ContainerState,
  closeWindow,
  type DecisionSettings,
  type FunctionState,
  type GrantChange,
  type Outcome,
  type Policies,
  Run,
} from '../../openwhisk-plugin/index.js';
import { PERIOD_MICROS, quotaOf } from '../host/placement.js';
import { OnCore, Stop } from './activations.js';
import type { Cluster } from './cluster.js';
import { WINDOW_MICROS } from './crossing.js';
import { FunctionOnHost } from './function-on-host.js';
import type { Guard } from './guard.js';
import { HarvestCounts } from './harvest-counts.js';
import { ManagedHost } from './managed-host.js';
import { ClusterOutcome } from './recorder.js';
import { EngineUsage } from './usage.js';
import { UserLimitTable } from './user-limits.js';

/** Size of a median payload, bytes: streams tell payloads as multiples of their function's median. */
const MEDIAN_PAYLOAD = 1024;
/** The simulated functions have one version; another nominal memory tells revisions apart. */
const VERSION = '0.0.1';

/** What agents do with what the hooks tell; `wake`s of its own come back through `due`. */
export interface ControlSide {
  /** An activation of the function has ended and is in its step. */
  stepped(fn: FunctionOnHost, now: number): void;
  due(target: number, stamp: number, now: number): void;
}

/** Stamps of the guard's own events are negative: the control side has the others. */
const boostStamp = (serial: number): number => -serial;

/** A container as its host's hook has it. */
interface ManagedContainer {
  readonly index: number;
  readonly serial: number;
  readonly state: ContainerState;
  readonly history: FunctionState;
  readonly record: FunctionOnHost;
  /** Throttled periods of the runs that are over. */
  throttled: number;
  boosted: boolean;
}

class ClusterRun extends Run {
  activation = -1;
}

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
 * The hooks of all hosts of a cluster: what the tap, the sampler and the limit writer do on a real one is told by the engine here, exactly and
 * at once; what is decided, and how, is the same `Decider`'s. Mode is `enforce`.
 */
export class HookGuard implements Guard {
  readonly hosts: readonly ManagedHost[];
  readonly counts = new HarvestCounts();
  control: ControlSide | null = null;
  readonly #cluster: Cluster;
  readonly #settings: DecisionSettings;
  /** By function and host; made when the function first comes there. */
  readonly #records: (FunctionOnHost | undefined)[] = [];
  readonly #users: UserLimitTable;
  readonly #usage: EngineUsage;
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
    const { shape } = cluster.parts;
    const oracle = { remainingCpu: (run: Run) => this.#usage.remainingCpu((run as ClusterRun).activation, this.#now) };
    this.hosts = Array.from(
      { length: shape.hosts },
      (_, host) => new ManagedHost(settings, shape, policies(), random.fork(`host ${host}`), oracle),
    );
  }

  knownRecord(fn: number, host: number): FunctionOnHost | undefined {
    return this.#records[fn * this.hosts.length + host];
  }

  containerStarted(container: number, now: number): void {
    const { functions, invokers } = this.#cluster;
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
    history.paidFactor = Math.max(1, (spec.memoryMiB * MIB) / user.memory);
    history.configuredSlo = spec.sloMs ?? Number.NaN;
    const state = decider.container(user);
    // Counters begin at zero with the container.
    state.read = true;
    const record = this.#recordOf(fn, hostIndex, history);
    record.state = history;
    const managed = { index: container, serial: ++this.#serial, state, history, record, throttled: 0, boosted: true };
    this.#containers[container] = managed;
    this.#byState.set(state, managed);
    const quota = decider.boost(state, ms);
    invokers.limits.setWeight(container, state.shares, now);
    if (state.mode === 'quota') invokers.limits.setQuota(container, quotaOf(quota), now);
    this.#cluster.wakeGuard(now + 1000 * this.#settings.boostTime, container, boostStamp(managed.serial));
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
    const { state, history, record } = managed;
    const host = this.#enter(record.host, now);
    const { decider } = host;
    const ms = (now / 1000) as Millis;
    const run = this.#spare.pop() ?? new ClusterRun(history, state);
    run.reset(history, state);
    run.activation = a;
    run.payload = Math.round(c.payload[a]! * MEDIAN_PAYLOAD) as Bytes;
    run.startCpu = this.#usage.cpu(container, a, now) as Micros;
    record.aim(run, state, ms);
    // Growth is measured from here: a sampler would have read it just before.
    state.last.at = ms;
    state.last.workingSet = this.#cluster.containers.columns.resident[container]! as Bytes;
    this.#runs[a] = run;
    if (history.hitUserLimit) decider.memoryLoan(state, history, ms);
    decider.start(run, ms);
    record.running++;
    record.lastSeen = ms;
    record.wantedCpu = run.cpu.wanted;
    record.wantedMemory = run.memory.wanted;
    record.userCpu = state.userCpu;
    record.cpuMode = state.mode;
    record.concurrent ||= state.concurrent;
    host.wanted += run.cpu.wanted;
    c.windowAt[a] = now;
    c.windowCpu[a] = c.cpuUsed[a]!;
    c.reviseAt[a] = 1000 * decider.revisesAt(run, 0);
    this.#write(managed);
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
    this.#windowBegins(a, run);
    if (action === 'none') return;
    this.counts.trips++;
    this.#write(managed);
    this.#writeChanged(host);
  }

  revises(a: number, now: number): void {
    const run = this.#runs[a];
    if (run === undefined) return;
    const { columns: c } = this.#cluster.activations;
    const { decider } = this.#enter(c.host[a]!, now);
    const used = c.done[a]! / 1000;
    c.reviseAt[a] = Number.POSITIVE_INFINITY;
    if (decider.revise(run, used)) this.#cluster.invokers.limits.setWeight(c.container[a]!, run.shares, now);
    c.reviseAt[a] = 1000 * decider.revisesAt(run, used);
  }

  rateChanges(a: number, now: number): void {
    const { columns: c } = this.#cluster.activations;
    if (now - c.windowAt[a]! < WINDOW_MICROS) return;
    const run = this.#runs[a];
    if (run === undefined) return;
    closeWindow(run, this.#usage.cpu(c.container[a]!, a, this.#now), now / 1000, this.#settings.minimumWindow);
    this.#windowBegins(a, run);
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
    decider.finish(run, OUTCOMES[outcome]!, duration / 1000, clean, ms);
    record.running--;
    host.wanted -= run.cpu.wanted;
    if (record.running === 0 && host.wanted < 1e-6) host.wanted = 0;
    if (c.counted[a] === 1) this.counts.ended(record.fn, run, this.#cluster.accounts.tally);
    if (this.control !== null) this.#tellStep(managed, run, a, duration, clean, ms);
    if (state.runs.length === 0) this.#userLimits(managed, now);
    else this.#write(managed);
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

  levels(): { readonly harvested: number; readonly borrowed: number; readonly wanted: number } {
    let harvested = 0;
    let borrowed = 0;
    let wanted = 0;
    for (const host of this.hosts) {
      harvested += host.decider.cpuPool.harvested;
      borrowed += host.decider.cpuPool.borrowed;
      wanted += host.wanted;
    }
    return { harvested, borrowed, wanted };
  }

  /** Brings a host's accounts up to now. */
  #enter(host: number, now: number): ManagedHost {
    const managed = this.hosts[host]!;
    managed.count(now / 1000);
    this.#now = now;
    return managed;
  }

  #endBoost(managed: ManagedContainer, now: number): void {
    managed.boosted = false;
    const { limits } = this.#cluster.invokers;
    this.hosts[managed.record.host]!.decider.boostEnded(managed.state);
    limits.setWeight(managed.index, managed.state.shares, now);
    if (managed.state.runs.length === 0) limits.setQuota(managed.index, quotaOf(managed.state.userQuota), now);
  }

  /** Brings what a container's runs were granted into force. */
  #write(managed: ManagedContainer): void {
    const now = this.#now;
    const { limits } = this.#cluster.invokers;
    const { state, index } = managed;
    const { runs } = state;
    for (let i = 0; i < runs.length; i++) this.#watch(runs[i] as ClusterRun, runs.length);
    const run = runs[0]!;
    managed.boosted = false;
    limits.setWeight(index, state.shares, now);
    if (state.mode === 'quota') limits.setQuota(index, quotaOf(run.quota), now);
    if (run.memory.user > 0) limits.setMemory(index, run.memoryLimit, now);
  }

  /** What of a run the engine must watch for the safeguard; armed when its limits are written. */
  #watch(run: ClusterRun, together: number): void {
    const { columns: c } = this.#cluster.activations;
    const { thetaSpike, midRun } = this.#settings;
    const { cpu, memory, activation } = run;
    const quota = run.container.mode === 'quota';
    const trip =
      midRun && quota && cpu.reduced ? (thetaSpike * cpu.granted) / 1000 / together : Number.POSITIVE_INFINITY;
    const later = trip > c.tripRate[activation]!;
    c.tripRate[activation] = trip;
    // Limits that stay as they are arm nothing anew.
    if (!later && c.onCore[activation] !== OnCore.not) this.#cluster.cores.interrupted(activation, this.#now);
    if (midRun && memory.reduced) this.#cluster.invokers.limits.watchMemory(activation, thetaSpike * memory.granted);
    else this.#cluster.invokers.limits.forget(activation);
  }

  readonly #writeManaged = (state: ContainerState, why: GrantChange): void => {
    const managed = this.#byState.get(state);
    if (managed === undefined || state.runs.length === 0) return;
    if (why === 'revoked') this.counts.revoked++;
    this.#write(managed);
  };

  /** Limits of others that this decision has changed. */
  #writeChanged(host: ManagedHost): void {
    host.decider.takeChanged(this.#writeManaged);
  }

  /** Quotas return to the user's at the end; weights stay, a container serves one function. */
  #userLimits({ index, state }: ManagedContainer, now: number): void {
    const { limits } = this.#cluster.invokers;
    if (state.mode === 'quota') limits.setQuota(index, quotaOf(state.userQuota), now);
    if (state.memory.active) limits.setMemory(index, state.user.memory, now);
  }

  /** The engine watches the decider's window: it may have begun anew at an end of another run in the container. */
  #windowBegins(a: number, run: ClusterRun): void {
    const { columns: c } = this.#cluster.activations;
    const at = Math.round(1000 * run.windowAt);
    if (c.windowAt[a] === at) return;
    c.windowAt[a] = at;
    c.windowCpu[a] = c.cpuUsed[a]!;
  }

  #tellStep(
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
    this.#ended ??= { run, duration: 0 as Micros, initMicros: 0 as Micros, cold: false, clean: false };
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

  #recordOf(fn: number, host: number, history: FunctionState): FunctionOnHost {
    const place = fn * this.hosts.length + host;
    let record = this.#records[place];
    if (record === undefined) {
      record = new FunctionOnHost(fn, host, history);
      this.#records[place] = record;
      this.hosts[host]!.functions.push(record);
    }
    return record;
  }
}
