import { MIB } from '../../config/index.js';
import type { Plan, WorkloadFunction } from '../workload/index.js';
import { ArrivalFeed } from './arrival-feed.js';
import { ContainerTable, Phase, State } from './container-table.js';
import { EventQueue } from './event-queue.js';
import { type HostOptions, type HostWatcher, SimOutcome, silent } from './options.js';
import { isIdle, longestIdle, setInitialLimits, warmContainer } from './placement.js';
import { Processor } from './processor.js';
import { Results } from './results.js';

const Kind = {
  arrival: 0,
  started: 1,
  unpaused: 2,
  waited: 3,
  pause: 4,
  evict: 5,
  deadline: 6,
  removed: 7,
  timer: 8,
} as const;

/**
 * One invoker host with its containers, event by event in integer microseconds of its own time
 * (design §6b). OpenWhisk's ways: one activation at a time in a container, warm ones first,
 * admission by nominal memory with the least recently used idle container making room, a
 * first-in-first-out wait where nothing fits, pause after a grace, removal after long idleness.
 */
export class SimHost {
  readonly table = new ContainerTable();
  readonly cpu: Processor;
  readonly results: Results;
  readonly options: HostOptions;
  readonly plan: Plan;
  now = 0;
  /** Calls arrived, and calls over, in all rounds. */
  arrived = 0;
  ended = 0;
  coldStarts = 0;
  /** Nominal memory of all containers, bytes. */
  admitted = 0;

  readonly #feed: ArrivalFeed;
  readonly #queue = new EventQueue();
  readonly #functions: readonly WorkloadFunction[];
  readonly #watcher: HostWatcher;
  readonly #waiting: { call: number; at: number }[] = [];
  /** An arrival is in the queue. */
  #expecting = false;
  #containers = 0;
  #connections = 0;

  constructor(plan: Plan, options: HostOptions, watcher: HostWatcher = silent) {
    this.plan = plan;
    this.options = options;
    this.#functions = plan.workload.functions;
    this.#watcher = watcher;
    this.cpu = new Processor(this.table, options.cores, options.interference);
    this.results = new Results(plan.count);
    this.#feed = new ArrivalFeed(plan);
    this.#awaitNext();
  }

  /** All calls have arrived and are over (never, while it repeats). */
  get finished(): boolean {
    return this.#feed.exhausted && !this.#expecting && this.ended === this.arrived;
  }

  /** Play the plan again and again; to be said before the last call has arrived. */
  set repeat(value: boolean) {
    this.#feed.repeat = value;
  }

  get nextAt(): number {
    if (this.cpu.dirty) return this.now;
    return Math.min(this.#queue.nextAt, this.cpu.dueAt);
  }

  functionOf(slot: number): WorkloadFunction {
    return this.#functions[this.table.fn[slot]!]!;
  }

  /** Calls the watcher's `timer(id)` at a time, integer us. */
  schedule(at: number, id: number): void {
    this.#queue.push(Math.max(this.now, at), Kind.timer, 0, id);
  }

  /** Handles everything up to and including `until`, and stands there afterwards. */
  run(until: number): void {
    for (;;) {
      if (this.cpu.dirty) this.cpu.plan(this.now);
      const due = this.cpu.dueAt;
      const event = this.#queue.nextAt;
      const at = Math.min(due, event);
      if (at > until || at === Number.POSITIVE_INFINITY) break;
      this.now = at;
      if (due <= event) this.cpu.turn(at, this.#turned);
      else if (this.#queue.pop())
        this.#handle(this.#queue.kind, this.#queue.target, this.#queue.stamp);
    }
    if (until > this.now && until !== Number.POSITIVE_INFINITY) this.now = until;
  }

  /** Runs until all calls are over; timers that are due later stay. Not for a host that repeats. */
  runToEnd(): void {
    while (!this.finished) {
      const at = this.nextAt;
      if (at === Number.POSITIVE_INFINITY) return;
      this.run(at);
    }
  }

  readonly #turned = (slot: number, due: 'phase-done' | 'out-of-memory'): void => {
    if (due === 'out-of-memory') this.#kill(slot);
    else this.#phaseDone(slot);
  };

  #handle(kind: number, target: number, stamp: number): void {
    if (kind === Kind.arrival) this.#arrive(target);
    else if (kind === Kind.timer) this.#watcher.timer(stamp);
    else if (this.table.columns.stamp[target] === stamp) this.#handleContainer(kind, target);
  }

  #handleContainer(kind: number, target: number): void {
    if (kind === Kind.started) this.#started(target);
    else if (kind === Kind.unpaused) this.#unpaused(target);
    else if (kind === Kind.waited) this.#waited(target);
    else if (kind === Kind.pause) this.#pause(target);
    else if (kind === Kind.evict) this.#remove(target);
    else if (kind === Kind.deadline) this.#deadline(target);
    else this.#removed(target);
  }

  #awaitNext(): void {
    this.#expecting = this.#feed.advance();
    if (this.#expecting)
      this.#queue.push(Math.max(this.#feed.at, this.now), Kind.arrival, this.#feed.call, 0);
  }

  #arrive(call: number): void {
    this.arrived++;
    this.#awaitNext();
    // First come, first served: who cannot be placed makes all later ones wait, as OpenWhisk's run
    // buffer does.
    if (this.#waiting.length > 0 || !this.#place(call, this.now))
      this.#waiting.push({ call, at: this.now });
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0 && this.#place(this.#waiting[0]!.call, this.#waiting[0]!.at))
      this.#waiting.shift();
  }

  #place(call: number, arrivedAt: number): boolean {
    const fn = this.plan.fn[call]!;
    const warm = warmContainer(this.table, fn);
    if (warm >= 0) {
      this.#take(warm, call, arrivedAt);
      if (this.table.state[warm] === State.paused) {
        this.table.state[warm] = State.unpausing;
        this.#queue.push(
          this.now + this.options.unpauseMicros,
          Kind.unpaused,
          warm,
          this.table.restamp(warm),
        );
      } else {
        this.#startRun(warm);
      }
      return true;
    }
    const need = this.#functions[fn]!.memoryMiB * MIB;
    if (!this.#evictForMemory(need)) return false;
    this.admitted += need;
    this.#create(fn, call, arrivedAt);
    return true;
  }

  /**
   * Orders idle containers away, least recently used first, if that makes room. Their memory is
   * free at once, as OpenWhisk counts it.
   */
  #evictForMemory(need: number): boolean {
    let idle = 0;
    for (let slot = 0; slot < this.table.high; slot++) {
      if (isIdle(this.table, slot)) idle += this.functionOf(slot).memoryMiB * MIB;
    }
    if (this.admitted - idle + need > this.options.userMemoryBytes) return false;
    while (this.admitted + need > this.options.userMemoryBytes)
      this.#remove(longestIdle(this.table));
    return true;
  }

  #create(fn: number, call: number, arrivedAt: number): void {
    const spec = this.#functions[fn]!;
    const slot = this.table.allocate();
    const c = this.table.columns;
    this.table.state[slot] = State.starting;
    this.table.fn[slot] = fn;
    setInitialLimits(this.table, slot, spec, this.options.userMemoryBytes);
    c.number[slot] = ++this.#containers;
    this.#take(slot, call, arrivedAt);
    this.coldStarts++;
    this.results.cold[call] = 1;
    const delay = Math.round(spec.profile.coldStartMs * 1000);
    this.#queue.push(this.now + delay, Kind.started, slot, this.table.restamp(slot));
  }

  #take(slot: number, call: number, arrivedAt: number): void {
    this.table.activation[slot] = call;
    this.table.columns.arrivedAt[slot] = arrivedAt;
    this.table.columns.runAt[slot] = Number.NaN;
  }

  #started(slot: number): void {
    const c = this.table.columns;
    const spec = this.functionOf(slot);
    this.table.state[slot] = State.busy;
    c.epoch[slot] = this.now;
    c.settledAt[slot] = this.now;
    c.resident[slot] = c.base[slot]!;
    c.peakSeen[slot] = c.base[slot]!;
    this.#watcher.containerStarted(slot);
    // The runtime is one process that starts: one core, whatever the function can use later.
    this.#begin(slot, Phase.init, spec.profile.initMs * 1000, 1);
    c.connection[slot] = ++this.#connections;
    this.#armDeadline(slot);
    this.#watcher.request(slot, true);
  }

  #unpaused(slot: number): void {
    this.#watcher.containerPaused(slot, false);
    this.#startRun(slot);
  }

  #startRun(slot: number): void {
    const call = this.table.activation[slot]!;
    const c = this.table.columns;
    const spec = this.functionOf(slot);
    this.table.state[slot] = State.busy;
    c.peak[slot] = Math.max(this.plan.peak[call]!, c.resident[slot]!);
    c.runAt[slot] = this.now;
    c.connection[slot] = ++this.#connections;
    this.#begin(slot, Phase.before, this.plan.cpu[call]!, spec.profile.parallelism);
    if (this.plan.io[call]! > 0) c.target[slot] = c.work[slot]! / 2;
    this.#armDeadline(slot);
    this.#watcher.request(slot, false);
  }

  #begin(slot: number, phase: number, work: number, parallelism: number): void {
    const c = this.table.columns;
    this.table.phase[slot] = phase;
    c.work[slot] = work;
    c.done[slot] = 0;
    c.target[slot] = work;
    c.parallelism[slot] = parallelism;
    this.cpu.join(slot, this.now);
  }

  #armDeadline(slot: number): void {
    const at = this.now + this.functionOf(slot).timeoutMs * 1000;
    this.#queue.push(at, Kind.deadline, slot, this.table.restamp(slot));
  }

  #phaseDone(slot: number): void {
    const c = this.table.columns;
    const phase = this.table.phase[slot];
    this.cpu.leave(slot, this.now);
    // Whoever asked has hung up: nobody reads an answer, and what was left to do no longer matters.
    if (this.table.state[slot] === State.removing) {
      if (phase !== Phase.init)
        this.cpu.unload(slot, this.functionOf(slot).profile.memory.retained);
      this.table.phase[slot] = Phase.none;
      return;
    }
    const io = phase === Phase.before ? this.plan.io[this.table.activation[slot]!]! : 0;
    if (io > 0) {
      this.table.phase[slot] = Phase.waiting;
      // The deadline keeps its stamp, so the wait shares it.
      this.#queue.push(this.now + io, Kind.waited, slot, c.stamp[slot]!);
      return;
    }
    if (phase !== Phase.init) this.cpu.unload(slot, this.functionOf(slot).profile.memory.retained);
    this.table.phase[slot] = Phase.none;
    this.#watcher.answer(slot, 200);
    this.#watcher.closed(slot, false);
    if (phase === Phase.init) {
      this.#startRun(slot);
      return;
    }
    this.#end(slot, SimOutcome.success);
    this.table.state[slot] = State.idle;
    c.lastUsed[slot] = this.now;
    const stamp = this.table.restamp(slot);
    this.#queue.push(this.now + this.options.pauseGraceMicros, Kind.pause, slot, stamp);
    this.#queue.push(this.now + this.options.idleMicros, Kind.evict, slot, stamp);
    this.#serveWaiting();
  }

  #waited(slot: number): void {
    if (this.table.phase[slot] !== Phase.waiting) return;
    this.table.phase[slot] = Phase.after;
    this.table.columns.target[slot] = this.table.columns.work[slot]!;
    this.cpu.join(slot, this.now);
  }

  #pause(slot: number): void {
    if (this.table.state[slot] !== State.idle) return;
    this.table.state[slot] = State.paused;
    this.#watcher.containerPaused(slot, true);
  }

  #deadline(slot: number): void {
    this.#end(slot, SimOutcome.timeout);
    this.#remove(slot);
    this.#serveWaiting();
  }

  /**
   * No fork, no handler: the container's first process is the function's own, so the container dies
   * with it.
   */
  #kill(slot: number): void {
    const c = this.table.columns;
    this.cpu.leave(slot, this.now);
    c.oomKills[slot]!++;
    c.limitHits[slot]!++;
    const removing = this.table.state[slot] === State.removing;
    if (!removing) this.#end(slot, SimOutcome.outOfMemory);
    this.table.phase[slot] = Phase.none;
    this.#watcher.containerOom(slot);
    this.#watcher.closed(slot, true);
    this.#watcher.containerEnded(slot);
    if (!removing) this.#remove(slot);
    this.table.state[slot] = State.dead;
    this.#serveWaiting();
  }

  #remove(slot: number): void {
    this.admitted -= this.functionOf(slot).memoryMiB * MIB;
    this.table.state[slot] = State.removing;
    this.#queue.push(
      this.now + this.options.removeMicros,
      Kind.removed,
      slot,
      this.table.restamp(slot),
    );
  }

  #removed(slot: number): void {
    const wasDead = this.table.state[slot] === State.dead;
    if (this.table.phase[slot] !== Phase.none) {
      this.cpu.leave(slot, this.now);
      this.table.phase[slot] = Phase.none;
      this.#watcher.closed(slot, true);
    }
    if (!wasDead) this.#watcher.containerEnded(slot);
    this.table.state[slot] = State.free;
    this.table.restamp(slot);
  }

  #end(slot: number, outcome: number): void {
    const call = this.table.activation[slot]!;
    const c = this.table.columns;
    this.cpu.settle(slot, this.now);
    this.table.activation[slot] = -1;
    const cpu = this.table.phase[slot] === Phase.init ? 0 : c.done[slot]!;
    this.results.record(call, outcome, c.arrivedAt[slot]!, c.runAt[slot]!, this.now, cpu);
    this.ended++;
    this.#watcher.activationEnded(call, slot, outcome);
  }
}
