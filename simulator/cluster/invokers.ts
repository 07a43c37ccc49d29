import { MIB } from '../../config/index.js';
import { sharesOf } from '../host/placement.js';
import { residentAfter } from '../host/working-set.js';
import { type ActivationColumns, type Activations, Due, Phase, Stop } from './activations.js';
import { ContainerStatus, type Containers } from './containers.js';
import type { Cores } from './cores.js';
import { Fn, type FunctionRows } from './function-rows.js';
import type { Guard } from './guard.js';
import { isOnCpu, Limits } from './limits.js';
import type { ClusterShape } from './options.js';
import { Prewarmed } from './prewarmed.js';
import { ClusterOutcome, StartKind } from './recorder.js';

/** Told of what the invokers have done with the calls they were sent. */
export interface Desk {
  /** The call is over for its caller; its place is free after this. */
  ended(activation: number, outcome: number, now: number): void;
  /** A container of `fn` on `host` has room again (-1: memory has become free there). */
  freed(host: number, fn: number, container: number, now: number): void;
  removed(fn: number, now: number): void;
}

/** Not a call: it makes a container that somebody wants to have ready. */
const NO_CALL = -1;

/**
 * The invokers: life of containers and of the activations in them, as OpenWhisk has it. Warm ones first (the most recently used),
 * then a prewarmed one, then a new one if nominal memory allows, the longest idle making room. Constant time each.
 */
export class Invokers {
  readonly limits: Limits;
  guard: Guard | null = null;
  /** Containers evicted for room or by age. */
  evicted = 0;

  readonly #c: ActivationColumns;
  readonly #activations: Activations;
  readonly #containers: Containers;
  readonly #functions: FunctionRows;
  readonly #cores: Cores;
  readonly #desk: Desk;
  readonly #shape: ClusterShape;
  readonly #graceMicros: number;
  readonly #unpauseMicros: number;
  readonly #idleMicros: number;
  readonly #prewarmed: Prewarmed;

  constructor(
    activations: Activations,
    containers: Containers,
    functions: FunctionRows,
    cores: Cores,
    desk: Desk,
    shape: ClusterShape,
  ) {
    this.limits = new Limits(activations, containers, functions, cores);
    this.#c = activations.columns;
    this.#activations = activations;
    this.#containers = containers;
    this.#functions = functions;
    this.#cores = cores;
    this.#desk = desk;
    this.#shape = shape;
    this.#graceMicros = shape.pauseGraceMs * 1000;
    this.#unpauseMicros = shape.unpauseMs * 1000;
    this.#idleMicros = shape.idleMs * 1000;
    this.#prewarmed = new Prewarmed(shape);
  }

  /** Finds a container on `host`; false where there is no room. `mayCreate`: a warm one only. */
  place(a: number, host: number, now: number, mayCreate = true): boolean {
    const fn = this.#c.fn[a]!;
    this.expire(host, now);
    const warm = this.#containers.warm(fn, host);
    if (warm >= 0) {
      this.use(warm, a, now);
      return true;
    }
    if (!mayCreate) return false;
    const memory = this.#functions.get(fn, Fn.memory);
    const kind = this.#prewarmed.of(host, memory);
    if (kind < 0 && !this.#makeRoom(host, memory, now)) return false;
    if (kind >= 0) this.#containers.admitted[host] = this.#containers.admitted[host]! - memory;
    this.#create(a, fn, host, memory, kind, now);
    return true;
  }

  /** Puts an activation into a container that has room. */
  use(container: number, a: number, now: number): void {
    const c = this.#c;
    const k = this.#containers.columns;
    const wasIdle = k.active[container] === 0;
    if (wasIdle) this.#containers.removeIdle(container);
    this.#enter(container, a, now, StartKind.warm);
    if (k.status[container] === ContainerStatus.starting) {
      c.phase[a] = Phase.boarding;
      return;
    }
    if (wasIdle && now - k.idleAt[container]! >= this.#graceMicros) {
      this.#sleep(a, Phase.unpausing, now + this.#unpauseMicros);
      return;
    }
    this.#startRun(a, now);
  }

  /** Makes a container that nobody has asked for yet; false where there is no room. */
  provision(fn: number, host: number, now: number): boolean {
    const memory = this.#functions.get(fn, Fn.memory);
    this.expire(host, now);
    if (this.#containers.admitted[host]! + memory > this.#shape.userMemoryMiB) return false;
    const a = this.#activations.claim();
    this.#c.call[a] = NO_CALL;
    this.#c.fn[a] = fn;
    this.#c.host[a] = host;
    this.#c.counted[a] = 0;
    this.#create(a, fn, host, memory, -1, now);
    return true;
  }

  /** Something is due of an activation (or of a container being made) on its host. */
  handle(a: number, now: number): void {
    const c = this.#c;
    const phase = c.phase[a]!;
    if (!isOnCpu(phase)) {
      this.#cores.sleepers.remove(a);
      if (phase === Phase.creating) this.#startInit(a, now);
      else if (phase === Phase.unpausing) this.#startRun(a, now);
      else if (phase === Phase.stocking) this.#stockReady(a, now);
      else if (c.dueKind[a] === Due.deadline) this.#timeOut(a, now);
      else this.#resume(a, now);
      return;
    }
    const kind = c.dueKind[a];
    if (kind === Due.stop) this.#reached(a, now);
    else if (kind === Due.deadline) this.#timeOut(a, now);
    else if (kind === Due.refill) {
      this.#cores.refilled(a, now);
      // The kernel counts a throttled period when it ends.
      if (c.tripRate[a]! < Number.POSITIVE_INFINITY) this.guard?.crossed(a, now);
    } else {
      if (kind === Due.crossing) {
        this.#cores.settle(a, now);
        this.guard?.crossed(a, now);
      }
      this.#cores.interrupted(a, now, kind === Due.throttle);
    }
  }

  /** Removes what has been idle for too long. Nothing else happens at that time, so it is done when somebody looks. */
  expire(host: number, now: number): void {
    const containers = this.#containers;
    for (;;) {
      const oldest = containers.oldestIdle(host);
      if (oldest < 0 || containers.columns.idleAt[oldest]! + this.#idleMicros > now) return;
      this.evict(oldest, now);
    }
  }

  /**
   * Another nominal memory, MiB, is another revision of the action (design §3): containers that are made from now on have it. Those of the old
   * one serve no new call, so what is idle of them is removed: it would count among the containers that the function may have.
   */
  revise(fn: number, memory: number, now: number): void {
    const functions = this.#functions;
    if (functions.get(fn, Fn.memory) === memory) return;
    functions.set(fn, Fn.memory, memory);
    functions.set(fn, Fn.limit, memory * MIB);
    functions.set(fn, Fn.weight, sharesOf(memory, this.#shape.userMemoryMiB * MIB));
    for (let host = 0; host < this.#shape.hosts; host++)
      for (let warm = this.#containers.warm(fn, host); warm >= 0; warm = this.#containers.warm(fn, host))
        if (this.#containers.columns.active[warm] === 0) this.evict(warm, now);
        else this.#containers.removeWarm(warm);
  }

  evict(container: number, now: number): void {
    this.evicted++;
    this.#containers.removeIdle(container);
    this.#remove(container, now);
  }

  /** The host is gone with all that is on it. */
  fail(host: number, now: number): void {
    const { sleepers, runners } = this.#cores;
    while (runners.counts[host]! + sleepers.counts[host]! > 0) {
      const a = runners.counts[host]! > 0 ? runners.on(host)[0]! : sleepers.at(host, 0);
      if (this.#c.phase[a] === Phase.stocking) {
        sleepers.remove(a);
        this.#containers.admitted[host] = this.#containers.admitted[host]! - this.#c.work[a]!;
        this.#activations.release(a);
      } else this.#kill(this.#c.container[a]!, ClusterOutcome.lost, now);
    }
    for (let oldest = this.#containers.oldestIdle(host); oldest >= 0; oldest = this.#containers.oldestIdle(host))
      this.evict(oldest, now);
    this.#containers.admitted[host] = this.#containers.admitted[host]! - this.#prewarmed.clear(host);
  }

  /** A host begins, or comes back: its prewarmed containers are made. */
  stock(host: number, now: number): void {
    this.#shape.prewarm.forEach(({ count }, kind) => {
      for (let i = 0; i < count; i++) this.#restock(host, kind, now);
    });
  }

  /** No idle container gives way for one that nobody has asked for. */
  #restock(host: number, kind: number, now: number): void {
    const { memoryMiB, coldStartMs } = this.#shape.prewarm[kind]!;
    if (this.#containers.admitted[host]! + memoryMiB > this.#shape.userMemoryMiB) return;
    this.#containers.admitted[host] = this.#containers.admitted[host]! + memoryMiB;
    const a = this.#activations.claim();
    this.#c.host[a] = host;
    this.#c.container[a] = kind;
    this.#c.work[a] = memoryMiB;
    this.#sleep(a, Phase.stocking, now + Math.round(coldStartMs * 1000));
  }

  #stockReady(a: number, now: number): void {
    const host = this.#c.host[a]!;
    this.#prewarmed.add(host, this.#c.container[a]!);
    this.#activations.release(a);
    // Somebody may have waited for it, or for its memory.
    this.#desk.freed(host, -1, -1, now);
  }

  /** Orders idle containers away, least recently used first, if that makes room. */
  #makeRoom(host: number, need: number, now: number): boolean {
    const containers = this.#containers;
    const limit = this.#shape.userMemoryMiB - need;
    if (containers.admitted[host]! <= limit) return true;
    const busy = containers.admitted[host]! - containers.idleMemory[host]!;
    if (busy - this.#prewarmed.memory(host) > limit) return false;
    while (containers.admitted[host]! > limit) {
      const oldest = containers.oldestIdle(host);
      if (oldest >= 0) this.evict(oldest, now);
      // A prewarmed one gives way where nothing else can, and is not made again: a call must not wait for ever.
      else containers.admitted[host] = containers.admitted[host]! - this.#prewarmed.takeAny(host);
    }
    return true;
  }

  #create(a: number, fn: number, host: number, memory: number, kind: number, now: number): void {
    const container = this.#containers.claim(fn, host, memory);
    const k = this.#containers.columns;
    k.limit[container] = this.#functions.get(fn, Fn.limit);
    k.weight[container] = this.#functions.get(fn, Fn.weight);
    k.quota[container] = this.#functions.get(fn, Fn.quota);
    k.resident[container] = this.#functions.get(fn, Fn.base);
    k.epoch[container] = now;
    this.#enter(container, a, now, kind >= 0 ? StartKind.prewarmed : StartKind.cold);
    if (kind < 0) {
      this.#sleep(a, Phase.creating, now + this.#functions.get(fn, Fn.cold));
      return;
    }
    this.#prewarmed.take(host, kind);
    this.#restock(host, kind, now);
    this.#startInit(a, now);
  }

  #enter(container: number, a: number, now: number, start: number): void {
    const c = this.#c;
    const k = this.#containers.columns;
    const active = k.active[container]! + 1;
    k.active[container] = active;
    c.container[a] = container;
    c.sibling[a] = k.first[container]!;
    k.first[container] = a;
    c.placedAt[a] = now;
    c.runAt[a] = Number.NaN;
    c.cpuUsed[a] = 0;
    c.start[a] = start;
    if (active < this.#functions.get(c.fn[a]!, Fn.concurrency)) this.#containers.addWarm(container);
    else this.#containers.removeWarm(container);
    if (active > 1) this.limits.spread(container, now);
  }

  #sleep(a: number, phase: number, until: number): void {
    const c = this.#c;
    c.phase[a] = phase;
    c.dueAt[a] = until;
    c.dueKind[a] = Due.timer;
    this.#cores.sleepers.add(a);
  }

  #startInit(a: number, now: number): void {
    const c = this.#c;
    const fn = c.fn[a]!;
    const container = c.container[a]!;
    this.#containers.columns.epoch[container] = now;
    this.guard?.containerStarted(container, now);
    c.tapAt[a] = now;
    c.deadline[a] = now + this.#functions.get(fn, Fn.timeout);
    // The runtime is one process that starts: one core, whatever the function can use later.
    this.#join(a, Phase.init, this.#functions.get(fn, Fn.init), 1, now);
  }

  #startRun(a: number, now: number): void {
    const c = this.#c;
    const fn = c.fn[a]!;
    if (c.start[a] === StartKind.warm) c.tapAt[a] = now;
    c.runAt[a] = now;
    c.deadline[a] = now + this.#functions.get(fn, Fn.timeout);
    c.work[a] = c.cpu[a]!;
    c.done[a] = 0;
    c.throttled[a] = 0;
    c.tripRate[a] = Number.POSITIVE_INFINITY;
    c.reviseAt[a] = Number.POSITIVE_INFINITY;
    this.guard?.runStarted(a, now);
    this.#join(a, Phase.before, c.cpu[a]!, this.#functions.get(fn, Fn.parallelism), now);
  }

  #join(a: number, phase: number, work: number, cap: number, now: number): void {
    const c = this.#c;
    c.phase[a] = phase;
    c.work[a] = work;
    c.done[a] = 0;
    c.cap[a] = cap;
    this.limits.enter(a, now);
    this.limits.aim(a);
    this.#cores.join(a, now);
  }

  /** The I/O wait is over. */
  #resume(a: number, now: number): void {
    const c = this.#c;
    this.guard?.rateChanges(a, now);
    c.phase[a] = Phase.after;
    this.limits.enter(a, now);
    this.limits.aim(a);
    this.#cores.join(a, now);
  }

  #reached(a: number, now: number): void {
    const c = this.#c;
    const phase = c.phase[a];
    this.#cores.settle(a, now);
    c.done[a] = c.stop[a]!;
    const kind = c.stopKind[a];
    if (kind === Stop.memoryTrip || kind === Stop.revise) {
      if (kind === Stop.revise) this.guard?.revises(a, now);
      else this.guard?.crossed(a, now);
      this.limits.aim(a);
      this.#cores.interrupted(a, now);
      return;
    }
    if (kind === Stop.memoryLimit) {
      this.#kill(c.container[a]!, ClusterOutcome.outOfMemory, now);
      return;
    }
    this.#offCpu(a, now);
    if (phase === Phase.init) this.#initEnded(a, now);
    else if (phase === Phase.before && c.io[a]! > 0) {
      this.guard?.rateChanges(a, now);
      const back = now + c.io[a]!;
      this.#sleep(a, Phase.waiting, Math.min(back, c.deadline[a]!));
      if (back > c.deadline[a]!) c.dueKind[a] = Due.deadline;
    } else this.#succeed(a, now);
  }

  #offCpu(a: number, now: number): void {
    this.#cores.leave(a, now);
    this.limits.leave(a);
  }

  #initEnded(a: number, now: number): void {
    const container = this.#c.container[a]!;
    const k = this.#containers.columns;
    k.status[container] = ContainerStatus.ready;
    this.guard?.initEnded(container, now);
    for (let other = k.first[container]!; other >= 0; other = this.#c.sibling[other]!)
      if (this.#c.phase[other] === Phase.boarding) this.#startRun(other, now);
    if (this.#c.call[a] !== NO_CALL) this.#startRun(a, now);
    else this.#detach(a, now);
  }

  #succeed(a: number, now: number): void {
    const c = this.#c;
    const container = c.container[a]!;
    const fn = c.fn[a]!;
    const k = this.#containers.columns;
    const top = Math.max(c.peak[a]!, k.resident[container]!);
    this.guard?.runEnded(a, ClusterOutcome.success, now);
    k.resident[container] = residentAfter(this.#functions.get(fn, Fn.base), top, this.#functions.get(fn, Fn.retained));
    this.#desk.ended(a, ClusterOutcome.success, now);
    this.#detach(a, now);
  }

  /** OpenWhisk gives a container up that has let a time limit pass; what else is in it may end. */
  #timeOut(a: number, now: number): void {
    const container = this.#c.container[a]!;
    if (this.#c.phase[a] === Phase.init) {
      this.#kill(container, ClusterOutcome.timeout, now);
      return;
    }
    if (isOnCpu(this.#c.phase[a]!)) this.#offCpu(a, now);
    this.guard?.runEnded(a, ClusterOutcome.timeout, now);
    this.#desk.ended(a, ClusterOutcome.timeout, now);
    this.#retire(container);
    this.#detach(a, now);
  }

  #retire(container: number): void {
    this.#containers.columns.status[container] = ContainerStatus.retired;
    this.#containers.removeWarm(container);
  }

  /** An activation leaves its container for good. */
  #detach(a: number, now: number): void {
    const c = this.#c;
    const k = this.#containers.columns;
    const container = c.container[a]!;
    const host = c.host[a]!;
    const fn = c.fn[a]!;
    this.#unlink(container, a);
    const active = k.active[container]! - 1;
    k.active[container] = active;
    this.limits.forget(a);
    this.#activations.release(a);
    if (k.memory[container] !== this.#functions.get(fn, Fn.memory)) this.#retire(container);
    if (k.status[container] === ContainerStatus.retired) {
      if (active === 0) this.#remove(container, now);
      this.#desk.freed(host, -1, -1, now);
      return;
    }
    this.#containers.addWarm(container);
    if (active === 0) this.#containers.addIdle(container, now);
    else this.limits.spread(container, now);
    this.#desk.freed(host, fn, container, now);
  }

  #unlink(container: number, a: number): void {
    const c = this.#c;
    const k = this.#containers.columns;
    k.cpu[container] = k.cpu[container]! + c.cpuUsed[a]!;
    let other = k.first[container]!;
    if (other === a) {
      k.first[container] = c.sibling[a]!;
      return;
    }
    while (c.sibling[other] !== a) other = c.sibling[other]!;
    c.sibling[other] = c.sibling[a]!;
  }

  /** The container dies with all that runs in it: memory limit, host. */
  #kill(container: number, outcome: number, now: number): void {
    const c = this.#c;
    const k = this.#containers.columns;
    const host = k.host[container]!;
    while (k.first[container]! >= 0) {
      const a = k.first[container]!;
      const phase = c.phase[a]!;
      if (isOnCpu(phase)) this.#offCpu(a, now);
      else if (phase !== Phase.boarding) this.#cores.sleepers.remove(a);
      if (!Number.isNaN(c.runAt[a]!)) this.guard?.runEnded(a, outcome, now);
      if (c.call[a] !== NO_CALL) this.#desk.ended(a, outcome, now);
      this.#unlink(container, a);
      k.active[container] = k.active[container]! - 1;
      this.limits.forget(a);
      this.#activations.release(a);
    }
    this.#remove(container, now);
    this.#desk.freed(host, -1, -1, now);
  }

  #remove(container: number, now: number): void {
    this.guard?.containerEnded(container, now);
    this.#containers.removeWarm(container);
    const fn = this.#containers.columns.fn[container]!;
    this.#containers.release(container);
    this.#desk.removed(fn, now);
  }
}
