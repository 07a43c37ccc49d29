import { MIB } from '../../config/index.js';
import { sharesOf } from '../../rules/index.js';
import {
  type ActivationColumns,
  type Activations,
  Due as DUE,
  Phase as PHASE,
  Stop as STOP,
} from './activations.js';
import { type Containers, ContainerStatus as STATUS } from './containers.js';
import type { Cores } from './cores.js';
import { Fn as FN, type FunctionRows } from './function-rows.js';
import type { LimitController } from './limit-controller.js';
import { isOnCpu, Limits } from './limits.js';
import { MemoryAdmission, NEW_CONTAINER, NO_MEMORY } from './memory-admission.js';
import type { ClusterShape } from './options.js';
import { Phases } from './phases.js';
import { ClusterOutcome as OUTCOME, StartKind as START_KIND } from './recorder.js';

const ClusterOutcome = OUTCOME;
const ContainerStatus = STATUS;
const Due = DUE;
const Fn = FN;
const Phase = PHASE;
const StartKind = START_KIND;
const Stop = STOP;

/** Called with what the invokers did with the activations they were sent. */
export interface InvokerListener {
  /** The activation is over for its caller; its index is free after this. */
  ended(activation: number, outcome: number, now: number): void;
  /** A container of `fn` on `host` can take an activation (-1: memory became free there). */
  freed(host: number, fn: number, container: number, now: number): void;
  removed(fn: number, now: number): void;
}

/** No activation: it creates a container ahead of demand. */
const NO_ACTIVATION = -1;

/**
 * The invokers: life cycle of containers and of the activations in them, as in OpenWhisk. A warm
 * container first (the most recently used), then a prewarmed one, then a new one if nominal memory
 * allows, for which the least recently used are evicted. [OpenWhisk ContainerPool.scala]
 */
export class Invokers {
  declare readonly limits: Limits;
  declare readonly memoryAdmission: MemoryAdmission;
  declare private readonly c: ActivationColumns;
  declare private readonly activations: Activations;
  declare private readonly containers: Containers;
  declare private readonly functions: FunctionRows;
  declare private readonly cores: Cores;
  declare private readonly phases: Phases;
  declare private readonly listener: InvokerListener;
  declare private readonly shape: ClusterShape;
  declare private readonly graceMicros: number;
  declare private readonly unpauseMicros: number;

  constructor(
    activations: Activations,
    containers: Containers,
    functions: FunctionRows,
    cores: Cores,
    listener: InvokerListener,
    shape: ClusterShape,
  ) {
    this.limits = new Limits(activations, containers, functions, cores);
    this.c = activations.columns;
    this.activations = activations;
    this.containers = containers;
    this.functions = functions;
    this.cores = cores;
    this.listener = listener;
    this.shape = shape;
    this.phases = new Phases(activations, containers, functions, cores, this.limits);
    this.memoryAdmission = new MemoryAdmission(activations, containers, cores.timerList, shape, {
      remove: (container, now) => this.#remove(container, now),
      freed: (host, now) => listener.freed(host, -1, -1, now),
    });
    this.graceMicros = shape.pauseGraceMs * 1000;
    this.unpauseMicros = shape.unpauseMs * 1000;
  }

  get limitController(): LimitController | null {
    return this.phases.limitController;
  }

  set limitController(limitController: LimitController | null) {
    this.phases.limitController = limitController;
  }

  /**
   * Finds a container on `host`; false if memory is short. Without `mayCreate`: a warm one only.
   */
  place(a: number, host: number, now: number, mayCreate = true): boolean {
    const fn = this.c.fn[a]!;
    this.memoryAdmission.expire(host, now);
    const warm = this.containers.warm(fn, host);
    if (warm >= 0) {
      this.use(warm, a, now);
      return true;
    }
    if (!mayCreate) return false;
    const memory = this.functions.get(fn, Fn.memory);
    const kind = this.memoryAdmission.take(host, memory, now);
    if (kind === NO_MEMORY) return false;
    this.#create(a, fn, host, memory, kind, now);
    return true;
  }

  /** Puts an activation into a container that can take it. */
  use(container: number, a: number, now: number): void {
    const c = this.c;
    const k = this.containers.columns;
    const wasIdle = k.active[container] === 0;
    if (wasIdle) this.containers.removeIdle(container);
    this.#enter(container, a, now, StartKind.warm);
    if (k.status[container] === ContainerStatus.starting) {
      c.phase[a] = Phase.waitingForInit;
      return;
    }
    if (wasIdle && now - k.idleAt[container]! >= this.graceMicros) {
      this.cores.timerList.startTimer(a, Phase.unpausing, now + this.unpauseMicros);
      return;
    }
    this.phases.startRun(a, now);
  }

  /** Creates a container ahead of demand; false if memory is short. */
  provision(fn: number, host: number, now: number): boolean {
    const memory = this.functions.get(fn, Fn.memory);
    this.memoryAdmission.expire(host, now);
    if (!this.memoryAdmission.hasMemory(host, memory)) return false;
    const a = this.activations.allocate();
    this.c.activation[a] = NO_ACTIVATION;
    this.c.fn[a] = fn;
    this.c.host[a] = host;
    this.c.counted[a] = 0;
    this.memoryAdmission.ahead[host] = this.memoryAdmission.ahead[host]! + memory;
    this.#create(a, fn, host, memory, NEW_CONTAINER, now);
    return true;
  }

  /** Handles the event of an activation, or of a container that is being created. */
  handle(a: number, now: number): void {
    const c = this.c;
    const phase = c.phase[a]!;
    if (!isOnCpu(phase)) {
      this.cores.timerList.remove(a);
      if (phase === Phase.creating) this.phases.startInit(a, now);
      else if (phase === Phase.unpausing) this.phases.startRun(a, now);
      else if (phase === Phase.prewarming) this.memoryAdmission.prewarmReady(a, now);
      else if (c.dueKind[a] === Due.deadline) this.#timeOut(a, now);
      else this.phases.resume(a, now);
      return;
    }
    const kind = c.dueKind[a];
    if (kind === Due.stop) this.#reached(a, now);
    else if (kind === Due.deadline) this.#timeOut(a, now);
    else if (kind === Due.refill) {
      this.cores.refilled(a, now);
      // The kernel counts a throttled period when it ends.
      if (c.tripRate[a]! < Number.POSITIVE_INFINITY) this.limitController?.crossed(a, now);
    } else {
      if (kind === Due.crossing) {
        this.cores.settle(a, now);
        this.limitController?.crossed(a, now);
      }
      this.cores.interrupted(a, now, kind === Due.throttle);
    }
  }

  /**
   * Another nominal memory, MiB, is a new revision of the action: later containers have it, those
   * of the old revision serve no new activation and wait for their eviction. Of a function with a
   * cap, against which they would count, they are removed.
   */
  revise(fn: number, memory: number, now: number): void {
    const functions = this.functions;
    if (functions.get(fn, Fn.memory) === memory) return;
    functions.set(fn, Fn.memory, memory);
    functions.set(fn, Fn.limit, memory * MIB);
    functions.set(fn, Fn.weight, sharesOf(memory, this.shape.userMemoryMiB));
    const capped = functions.get(fn, Fn.capped) === 1;
    const containers = this.containers;
    for (let host = 0; host < this.shape.hosts; host++)
      for (let warm = containers.warm(fn, host); warm >= 0; warm = containers.warm(fn, host))
        if (capped && containers.columns.active[warm] === 0) this.memoryAdmission.evict(warm, now);
        else containers.removeWarm(warm);
  }

  /** The host fails with everything on it. */
  fail(host: number, now: number): void {
    const { timerList, runners } = this.cores;
    while (runners.counts[host]! + timerList.counts[host]! > 0) {
      const a = runners.counts[host]! > 0 ? runners.on(host)[0]! : timerList.at(host, 0);
      if (this.c.phase[a] === Phase.prewarming) this.memoryAdmission.cancelPrewarming(a);
      else this.#kill(this.c.container[a]!, ClusterOutcome.lost, now);
    }
    this.memoryAdmission.clear(host, now);
  }

  #create(a: number, fn: number, host: number, memory: number, kind: number, now: number): void {
    const container = this.containers.allocate(fn, host, memory);
    const k = this.containers.columns;
    k.limit[container] = this.functions.get(fn, Fn.limit);
    k.weight[container] = this.functions.get(fn, Fn.weight);
    k.quota[container] = this.functions.get(fn, Fn.quota);
    k.resident[container] = this.functions.get(fn, Fn.base);
    k.epoch[container] = now;
    this.#enter(container, a, now, kind === NEW_CONTAINER ? StartKind.cold : StartKind.prewarmed);
    if (kind === NEW_CONTAINER) {
      this.cores.timerList.startTimer(a, Phase.creating, now + this.functions.get(fn, Fn.cold));
      return;
    }
    this.memoryAdmission.startPrewarming(host, kind, now);
    this.phases.startInit(a, now);
  }

  #enter(container: number, a: number, now: number, start: number): void {
    const c = this.c;
    const k = this.containers.columns;
    const active = k.active[container]! + 1;
    k.active[container] = active;
    k.usedAt[container] = now;
    c.container[a] = container;
    c.sibling[a] = k.first[container]!;
    k.first[container] = a;
    c.placedAt[a] = now;
    c.runAt[a] = Number.NaN;
    c.cpuUsed[a] = 0;
    c.start[a] = start;
    if (active < this.functions.get(c.fn[a]!, Fn.concurrency)) this.containers.addWarm(container);
    else this.containers.removeWarm(container);
    if (active > 1) this.limits.spread(container, now);
  }

  #reached(a: number, now: number): void {
    const c = this.c;
    const phase = c.phase[a];
    this.cores.settle(a, now);
    c.done[a] = c.stop[a]!;
    const kind = c.stopKind[a];
    if (kind === Stop.memoryTrip || kind === Stop.revise) {
      if (kind === Stop.revise) this.limitController?.revises(a, now);
      else this.limitController?.crossed(a, now);
      this.limits.aim(a);
      this.cores.interrupted(a, now);
      return;
    }
    if (kind === Stop.memoryLimit) {
      this.#kill(c.container[a]!, ClusterOutcome.outOfMemory, now);
      return;
    }
    this.phases.offCpu(a, now);
    if (phase === Phase.init) this.#initEnded(a, now);
    else if (phase === Phase.before && c.io[a]! > 0) {
      this.limitController?.rateChanges(a, now);
      const back = now + c.io[a]!;
      this.cores.timerList.startTimer(a, Phase.waiting, Math.min(back, c.deadline[a]!));
      if (back > c.deadline[a]!) c.dueKind[a] = Due.deadline;
    } else this.#succeed(a, now);
  }

  #initEnded(a: number, now: number): void {
    const container = this.c.container[a]!;
    const k = this.containers.columns;
    k.status[container] = ContainerStatus.ready;
    this.limitController?.initEnded(container, now);
    for (let other = k.first[container]!; other >= 0; other = this.c.sibling[other]!)
      if (this.c.phase[other] === Phase.waitingForInit) this.phases.startRun(other, now);
    if (this.c.activation[a] !== NO_ACTIVATION) this.phases.startRun(a, now);
    else {
      this.#endAhead(container);
      this.#detach(a, now);
    }
  }

  /** A container that was created ahead is ready, or gone. */
  #endAhead(container: number): void {
    const { memory, host } = this.containers.columns;
    const { ahead } = this.memoryAdmission;
    ahead[host[container]!] = ahead[host[container]!]! - memory[container]!;
  }

  #succeed(a: number, now: number): void {
    const c = this.c;
    const container = c.container[a]!;
    this.limitController?.runEnded(a, ClusterOutcome.success, now);
    this.containers.columns.resident[container] = this.limits.retainedBy(a);
    this.listener.ended(a, ClusterOutcome.success, now);
    this.#detach(a, now);
  }

  /** OpenWhisk removes a container after a time limit; its other activations may finish. */
  #timeOut(a: number, now: number): void {
    const container = this.c.container[a]!;
    if (this.c.phase[a] === Phase.init) {
      this.#kill(container, ClusterOutcome.timeout, now);
      return;
    }
    if (isOnCpu(this.c.phase[a]!)) this.phases.offCpu(a, now);
    this.limitController?.runEnded(a, ClusterOutcome.timeout, now);
    this.listener.ended(a, ClusterOutcome.timeout, now);
    this.#retire(container);
    this.#detach(a, now);
  }

  #retire(container: number): void {
    this.containers.columns.status[container] = ContainerStatus.retired;
    this.containers.removeWarm(container);
  }

  /** An activation leaves its container for good. */
  #detach(a: number, now: number): void {
    const c = this.c;
    const k = this.containers.columns;
    const container = c.container[a]!;
    const host = c.host[a]!;
    const fn = c.fn[a]!;
    this.#unlink(container, a);
    const active = k.active[container]! - 1;
    k.active[container] = active;
    this.limits.forget(a);
    this.activations.release(a);
    const old = k.memory[container] !== this.functions.get(fn, Fn.memory);
    if (old && this.functions.get(fn, Fn.capped) === 1) this.#retire(container);
    if (k.status[container] === ContainerStatus.retired) {
      if (active === 0) this.#remove(container, now);
      this.listener.freed(host, -1, -1, now);
      return;
    }
    if (!old) this.containers.addWarm(container);
    if (active === 0) this.containers.addIdle(container, now);
    else this.limits.spread(container, now);
    this.listener.freed(host, old ? -1 : fn, old ? -1 : container, now);
  }

  #unlink(container: number, a: number): void {
    const c = this.c;
    const k = this.containers.columns;
    k.cpu[container] = k.cpu[container]! + c.cpuUsed[a]!;
    let other = k.first[container]!;
    if (other === a) {
      k.first[container] = c.sibling[a]!;
      return;
    }
    while (c.sibling[other] !== a) other = c.sibling[other]!;
    c.sibling[other] = c.sibling[a]!;
  }

  /** The container is killed with everything in it: memory limit, or host failure. */
  #kill(container: number, outcome: number, now: number): void {
    const c = this.c;
    const k = this.containers.columns;
    const host = k.host[container]!;
    while (k.first[container]! >= 0) {
      const a = k.first[container]!;
      const phase = c.phase[a]!;
      if (isOnCpu(phase)) this.phases.offCpu(a, now);
      else if (phase !== Phase.waitingForInit) this.cores.timerList.remove(a);
      if (!Number.isNaN(c.runAt[a]!)) this.limitController?.runEnded(a, outcome, now);
      if (c.activation[a] !== NO_ACTIVATION) this.listener.ended(a, outcome, now);
      else this.#endAhead(container);
      this.#unlink(container, a);
      k.active[container] = k.active[container]! - 1;
      this.limits.forget(a);
      this.activations.release(a);
    }
    this.#remove(container, now);
    this.listener.freed(host, -1, -1, now);
  }

  #remove(container: number, now: number): void {
    this.limitController?.containerEnded(container, now);
    this.containers.removeWarm(container);
    const fn = this.containers.columns.fn[container]!;
    this.containers.release(container);
    this.listener.removed(fn, now);
  }
}
