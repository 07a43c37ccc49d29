import { MIB } from '../../config/index.js';
import { ActivationBlock, type ActivationStream } from '../workload/index.js';
import { Accounts } from './accounts.js';
import { Activations } from './activations.js';
import { Balancer } from './balancer.js';
import { quotaOf } from './cfs.js';
import { ContainerStatus, Containers } from './containers.js';
import { Cores } from './cores.js';
import { Dispatch } from './dispatch.js';
import { EventQueue } from './event-queue.js';
import { Fn, FunctionRows } from './function-rows.js';
import { HostClock } from './host-clock.js';
import { Invokers } from './invokers.js';
import { Levels } from './levels.js';
import type { LimitController } from './limit-controller.js';
import type { ClusterMode, ClusterShape, Failure, LimitChange } from './options.js';
import type { ActivationRecorder } from './recorder.js';

/** Kinds of timeline entries. */
const Event = { fail: 0, restore: 1, change: 2, sample: 3, retry: 4, limitController: 5 } as const;
/** Activations between two progress reports. */
const PROGRESS_MASK = 0xffff;

export interface ClusterParts {
  readonly activations: ActivationStream;
  readonly shape: ClusterShape;
  readonly mode: ClusterMode;
  readonly seed: number;
  readonly seriesBuckets: number;
  readonly warmUpMicros: number;
  readonly failures: readonly Failure[];
  readonly limitChanges: readonly LimitChange[];
  readonly recorder: ActivationRecorder | null;
  /** The summary's default objective: this x the p99 alone at user limits. */
  readonly sloFactor: number;
  readonly progress: ((ended: number, now: number) => void) | null;
  /** Time goes on after the last activation has ended, so that timers run. */
  readonly endless: boolean;
}

/**
 * OpenWhisk's invoker hosts with their containers, event by event in integer microseconds. Time
 * moves to the first of three: the next arrival, the next event of a host, the next entry of the
 * timeline. The cluster knows one instant a host; nothing is allocated per event.
 */
export class Cluster {
  readonly activations = new Activations();
  declare readonly functions: FunctionRows;
  declare readonly containers: Containers;
  declare readonly cores: Cores;
  declare readonly invokers: Invokers;
  declare readonly balancer: Balancer;
  declare readonly dispatch: Dispatch;
  declare readonly accounts: Accounts;
  declare readonly levels: Levels;
  declare readonly parts: ClusterParts;
  now = 0;

  readonly #block = new ActivationBlock();
  #blockSize = 0;
  #blockNext = 0;
  #arrivalAt = 0;
  declare private readonly clock: HostClock;
  readonly #timeline = new EventQueue(256);
  #limitController: LimitController | null = null;

  constructor(parts: ClusterParts) {
    const { activations: stream, shape, mode, seed } = parts;
    this.parts = parts;
    this.functions = new FunctionRows(stream.functions, mode, shape.userMemoryMiB);
    this.containers = new Containers(this.functions.count, shape.hosts);
    this.levels = new Levels(stream.spanMicros, parts.seriesBuckets);
    const { activations, functions, containers, levels } = this;
    this.cores = new Cores(activations, shape.hosts, shape.cores - shape.systemCores, levels);
    this.accounts = new Accounts(activations.columns, functions, parts.recorder, parts.sloFactor);
    this.balancer = new Balancer(functions, shape.hosts, shape.userMemoryMiB, seed);
    this.dispatch = new Dispatch(
      activations,
      this.balancer,
      containers,
      functions,
      this.accounts,
      (fn, now) => this.#timeline.push(now, Event.retry, fn, 0),
    );
    this.invokers = new Invokers(
      activations,
      containers,
      functions,
      this.cores,
      this.dispatch,
      shape,
    );
    this.dispatch.invokers = this.invokers;
    this.clock = new HostClock(shape.hosts);
    this.#fillTimeline();
    for (let host = 0; host < shape.hosts; host++) {
      this.invokers.memoryAdmission.prewarmHost(host, 0);
      this.refresh(host);
    }
  }

  /** Before anything runs. */
  set limitController(limitController: LimitController | null) {
    this.#limitController = limitController;
    this.invokers.limitController = limitController;
    this.cores.watcher = limitController;
  }

  /** Calls the limit controller's `due` at a time, integer us. */
  scheduleLimitEvent(at: number, target: number, stamp: number): void {
    this.#timeline.push(Math.max(this.now, at), Event.limitController, target, stamp);
  }

  /** Call it after a change of a host from outside of its own events. */
  refresh(host: number): void {
    this.clock.set(host, this.cores.next(host, this.now));
  }

  alive(host: number): boolean {
    return this.balancer.alive[host] === 1;
  }

  /** Time of the next event, us; Infinity if there is none. */
  get nextAt(): number {
    return Math.min(this.clock.firstAt, this.#timeline.nextAt, this.#arrivalAt);
  }

  /** Arrivals are still to come, or a host has an event. */
  get isActive(): boolean {
    return (
      this.#arrivalAt < Number.POSITIVE_INFINITY || this.clock.firstAt < Number.POSITIVE_INFINITY
    );
  }

  /** All activations have arrived and ended. */
  get finished(): boolean {
    return (
      this.#arrivalAt === Number.POSITIVE_INFINITY && this.accounts.ended === this.accounts.arrived
    );
  }

  /**
   * Handles everything up to and including `until`; stops when all activations are over, unless
   * endless.
   */
  run(until: number): void {
    if (this.now === 0 && this.#blockSize === 0) this.#nextBlock();
    const { endless } = this.parts;
    while ((endless || !this.finished) && this.#step(until));
    if (until > this.now && until < Number.POSITIVE_INFINITY && (endless || !this.finished))
      this.now = until;
  }

  /**
   * Handles the next event; false if it comes after `until` or never. A method of its own, because
   * V8 optimizes what is called often better than the middle of a long loop.
   */
  #step(until: number): boolean {
    const dueAt = this.clock.firstAt;
    const eventAt = this.#timeline.nextAt;
    const arrivalAt = this.#arrivalAt;
    const at = Math.min(dueAt, eventAt, arrivalAt);
    if (at === Number.POSITIVE_INFINITY) {
      this.dispatch.giveUp(this.now);
      return false;
    }
    if (at > until) return false;
    this.now = at;
    // At one instant: first the timeline, then ends, then arrivals.
    if (eventAt === at) this.#event();
    else if (dueAt === at) this.#turn(this.clock.first, at);
    else this.#arrive(at);
    return true;
  }

  #turn(host: number, now: number): void {
    const { cores, invokers } = this;
    let next: number;
    do {
      invokers.handle(cores.first(host), now);
      next = cores.next(host, now);
    } while (next <= now);
    this.clock.set(host, next);
  }

  #arrive(now: number): void {
    const a = this.activations.allocate();
    const c = this.activations.columns;
    const block = this.#block;
    const i = this.#blockNext++;
    c.fn[a] = block.fn[i]!;
    c.cpu[a] = block.cpu[i]!;
    c.io[a] = block.io[i]!;
    c.peak[a] = block.peak[i]!;
    c.payload[a] = block.payload[i]!;
    c.activation[a] = this.accounts.arrived++;
    c.arrivedAt[a] = now;
    c.counted[a] = now >= this.parts.warmUpMicros ? 1 : 0;
    this.accounts.asked += block.cpu[i]!;
    const host = this.dispatch.arrive(a, now);
    if (host >= 0) this.clock.set(host, this.cores.next(host, now));
    if (this.#blockNext < this.#blockSize) this.#arrivalAt = block.arrival[this.#blockNext]!;
    else this.#nextBlock();
    if ((this.accounts.arrived & PROGRESS_MASK) === 0)
      this.parts.progress?.(this.accounts.ended, now);
  }

  #nextBlock(): void {
    this.#blockSize = this.parts.activations.fill(this.#block);
    this.#blockNext = 0;
    this.#arrivalAt = this.#blockSize > 0 ? this.#block.arrival[0]! : Number.POSITIVE_INFINITY;
  }

  #fillTimeline(): void {
    const { failures, limitChanges, shape } = this.parts;
    for (let bucket = 0; bucket < this.levels.buckets; bucket++)
      this.#timeline.push((bucket + 1) * this.levels.bucketMicros, Event.sample, bucket, 0);
    limitChanges.forEach(({ atMs }, index) => {
      this.#timeline.push(Math.round(atMs * 1000), Event.change, index, 0);
    });
    for (const { host, atMs, forMs } of failures) {
      if (!(host >= 0 && host < shape.hosts))
        throw new RangeError(`there is no host ${host} that could fail`);
      this.#timeline.push(Math.round(atMs * 1000), Event.fail, host, forMs === undefined ? 1 : 0);
      if (forMs !== undefined)
        this.#timeline.push(Math.round((atMs + forMs) * 1000), Event.restore, host, 0);
    }
  }

  #event(): void {
    const timeline = this.#timeline;
    timeline.pop();
    const { kind, target, stamp } = timeline;
    if (kind === Event.sample) this.#sample(target);
    else if (kind === Event.limitController) this.#limitController?.due(target, stamp, this.now);
    else if (kind === Event.retry) {
      const host = this.dispatch.retry(target, this.now);
      if (host >= 0) this.refresh(host);
    } else if (kind === Event.change) this.#change(this.parts.limitChanges[target]!);
    else this.#failOrRestore(kind, target, stamp === 1);
  }

  #failOrRestore(kind: number, host: number, forGood: boolean): void {
    if (kind === Event.fail) {
      this.balancer.alive[host] = 0;
      this.invokers.fail(host, this.now);
      if (forGood) this.dispatch.lose(host, this.now);
    } else {
      this.balancer.alive[host] = 1;
      this.invokers.memoryAdmission.prewarmHost(host, this.now);
      this.dispatch.serve(host, this.now);
    }
    this.refresh(host);
  }

  /** Existing containers get the new limits at once, later ones from the start. */
  #change(change: LimitChange): void {
    const { functions, containers, now } = this;
    const { limits } = this.invokers;
    const { fn, cpuMillicores, shares, memoryMiB } = change;
    if (cpuMillicores !== undefined) functions.set(fn, Fn.quota, quotaOf(cpuMillicores));
    if (shares !== undefined) functions.set(fn, Fn.weight, shares);
    if (memoryMiB !== undefined) functions.set(fn, Fn.limit, memoryMiB * MIB);
    const k = containers.columns;
    for (let container = 0; container < containers.high; container++) {
      if (k.status[container] === ContainerStatus.free || k.fn[container] !== fn) continue;
      limits.setQuota(container, functions.get(fn, Fn.quota), now);
      limits.setWeight(container, functions.get(fn, Fn.weight), now);
      limits.setMemory(container, functions.get(fn, Fn.limit), now);
      this.refresh(k.host[container]!);
    }
  }

  #sample(bucket: number): void {
    for (let host = 0; host < this.parts.shape.hosts; host++)
      this.invokers.memoryAdmission.expire(host, this.now);
    const levels = this.#limitController?.levels();
    this.levels.sample(bucket, {
      harvested: levels?.harvested ?? 0,
      borrowed: levels?.borrowed ?? 0,
      demand: levels?.demand ?? 0,
      waiting: this.dispatch.waiting,
      running: this.accounts.arrived - this.accounts.ended - this.dispatch.waiting,
      containers: this.containers.count,
    });
  }
}
