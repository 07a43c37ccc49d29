import {
  type ActivationColumns,
  type Activations,
  Due as DUE,
  OnCore as ON_CORE,
} from './activations.js';
import { drawFromBucket, isThrottled } from './bucket.js';
import { PERIOD_MICROS as PERIOD, WORK_EPSILON as WORK_ROUNDING } from './cfs.js';
import { canCross, crossingLevel } from './crossing.js';
import { DueTimeCache } from './due-time-cache.js';
import { armAtCap, armSharing, armUncontended, bindingLevel } from './due-times.js';
import type { Levels } from './levels.js';
import { CORE_EPSILON as CORE_ROUNDING, Runners } from './runners.js';
import { TimerList } from './timer-list.js';
import { VirtualTime } from './virtual-time.js';

const PERIOD_MICROS = PERIOD;
const WORK_EPSILON = WORK_ROUNDING;
const CORE_EPSILON = CORE_ROUNDING;
const Due = DUE;
const OnCore = ON_CORE;

/** Called before the rate of an activation changes; its columns are settled. */
export interface RateWatcher {
  rateChanges(activation: number, now: number): void;
}

/** More than one joined since the last plan. */
const SEVERAL = -2;

/**
 * The cores of all hosts and the activations on them: weighted max-min sharing within caps and
 * quotas, at a few operations an event.
 *
 * While the activations of a host ask for no more cores than it has, the end of each is known when
 * it joins, quotas included (closed form), and others do not change it. Otherwise the host is
 * *tight*: satisfied activations run at their cap, so their ends are known too; all others run at
 * weight x level, so their ends are known in the host's *virtual time*, which passes at the level.
 * A plan finds the level and updates only the activations that it passes.
 */
export class Cores {
  declare readonly timerList: TimerList;
  declare readonly runners: Runners;
  watcher: RateWatcher | null = null;
  declare private readonly c: ActivationColumns;
  declare private readonly cores: number;
  declare private readonly levels: Levels;
  /** By host: cores that its activations can use, throttled ones included, and their count. */
  declare private readonly asked: Float64Array;
  declare private readonly runnableCounts: Int32Array;
  declare private readonly contended: Uint8Array;
  declare private readonly dirty: Uint8Array;
  /** By host: the activation that joined since the last plan; -1: none; SEVERAL: check all. */
  declare private readonly fresh: Int32Array;
  /** By `dueAt`, and for those that share by `dueVirtual`. */
  declare private readonly due: DueTimeCache;
  declare private readonly dueVirtual: DueTimeCache;
  /** The activation that `next` found. */
  declare private readonly turn: Int32Array;
  declare private readonly time: VirtualTime;
  /** Below this level no unwatched activation can empty its bucket or reach its crossing. */
  declare private readonly free: Float64Array;
  /** Cores in use since the last plan, if the host is tight. */
  declare private readonly busy: Float64Array;

  constructor(activations: Activations, hosts: number, cores: number, levels: Levels) {
    const doubles = (value = 0): Float64Array => new Float64Array(hosts).fill(value);
    const integers = (value = 0): Int32Array => new Int32Array(hosts).fill(value);
    this.c = activations.columns;
    this.timerList = new TimerList(activations.columns, hosts);
    this.runners = new Runners(activations.columns, hosts);
    this.cores = cores;
    this.levels = levels;
    this.asked = doubles();
    this.runnableCounts = integers();
    this.contended = new Uint8Array(hosts);
    this.dirty = new Uint8Array(hosts);
    this.fresh = integers(-1);
    this.due = new DueTimeCache(hosts);
    this.dueVirtual = new DueTimeCache(hosts);
    this.turn = integers(-1);
    this.time = new VirtualTime(hosts);
    this.free = doubles(Number.POSITIVE_INFINITY);
    this.busy = doubles();
  }

  /**
   * Starts to use a core. Set before: `done`, `stop`, `cap`, `weight`, bucket, deadline and what is
   * watched.
   */
  join(a: number, now: number): void {
    const c = this.c;
    const host = c.host[a]!;
    const asked = this.asked[host]! + c.cap[a]!;
    this.asked[host] = asked;
    this.runnableCounts[host] = this.runnableCounts[host]! + 1;
    const known = this.dirty[host] === 0 && this.contended[host] === 0;
    if (!known || asked > this.cores + CORE_EPSILON) {
      this.#enter(a, host, now);
      return;
    }
    c.onCore[a] = OnCore.satisfied;
    this.#list(a, now);
    armUncontended(c, a, now);
    this.due.changed(host, a, c.dueAt[a]!);
  }

  leave(a: number, now: number): void {
    const c = this.c;
    const host = c.host[a]!;
    if (c.onCore[a] === OnCore.throttled) this.timerList.remove(a);
    else {
      this.settle(a, now);
      this.#withdraw(a, host);
    }
    c.onCore[a] = OnCore.not;
    const count = this.runnableCounts[host]! - 1;
    this.runnableCounts[host] = count;
    // Reset an idle host: sums of fractions drift.
    this.asked[host] = count === 0 ? 0 : this.asked[host]! - c.cap[a]!;
  }

  /**
   * Handles an event that is not the end: the bucket is empty (`emptied`) or a crossing is reached.
   * `emptied` sets `used`, since rounding of virtual time may leave it below the quota.
   */
  interrupted(a: number, now: number, emptied = false): void {
    const c = this.c;
    const host = c.host[a]!;
    if (c.onCore[a] === OnCore.throttled) return;
    this.settle(a, now);
    if (emptied) c.used[a] = c.quota[a]!;
    const contended = this.contended[host] === 1;
    if (!contended && this.dirty[host] === 0) {
      // The ends of others stay, but the limit controller may read their use, and a crossing that
      // their cap just reaches moves with the instant at which it is computed.
      const list = this.runners.on(host);
      for (let i = 0; i < this.runners.counts[host]!; i++) {
        const other = list[i]!;
        this.settle(other, now);
        if (other !== a && canCross(c, other)) armUncontended(c, other, now);
      }
      this.runners.moveBehindEquals(a);
      armUncontended(c, a, now);
      // Of those that are due at one instant the first in the list goes first.
      this.due.forget(host);
      return;
    }
    const throttled = contended && isThrottled(c, a);
    if (c.onCore[a] === OnCore.fresh && !throttled && this.runners.addAgain(a)) return;
    this.#withdraw(a, host);
    if (throttled) this.#throttle(a, host, now);
    else this.#enter(a, host, now);
  }

  /** A new period starts for a throttled activation. */
  refilled(a: number, now: number): void {
    const c = this.c;
    this.timerList.remove(a);
    c.throttled[a] = c.throttled[a]! + 1;
    c.used[a] = 0;
    c.periodEnd[a] = c.periodEnd[a]! + PERIOD_MICROS;
    this.#enter(a, c.host[a]!, now);
  }

  /** Brings one activation's work and bucket up to `now`; changes no rate. */
  settle(a: number, now: number): void {
    // Most are settled already: this much is inlined where it is called.
    if (now > this.c.settledAt[a]!) this.#advance(a, now);
  }

  #advance(a: number, now: number): void {
    const c = this.c;
    const from = c.settledAt[a]!;
    const span = now - from;
    c.settledAt[a] = now;
    const state = c.onCore[a];
    const host = c.host[a]!;
    let cpu: number;
    if (state === OnCore.sharing) {
      const virtual = this.time.at(host, now);
      cpu = c.weight[a]! * (virtual - c.settledVirtual[a]!);
      c.settledVirtual[a] = virtual;
      if (c.quota[a]! > 0) cpu = drawFromBucket(c, a, cpu / span, from, span);
      c.waited[a] = c.waited[a]! + span - cpu / c.cap[a]!;
    } else if (state === OnCore.satisfied) {
      const cap = c.cap[a]!;
      cpu = c.quota[a]! > 0 ? drawFromBucket(c, a, cap, from, span) : cap * span;
    } else return;
    // Instants are rounded up to whole microseconds, but work ends exactly as planned.
    cpu = Math.min(cpu, c.stop[a]! - c.done[a]!);
    c.done[a] = c.done[a]! + cpu;
    c.cpuUsed[a] = c.cpuUsed[a]! + cpu;
    if (this.contended[host] === 0) this.levels.used(from, now, cpu);
  }

  /** Next event of a host, us; plans first if needed. */
  next(host: number, now: number): number {
    if (this.dirty[host] === 1) this.#plan(host, now);
    const { runners } = this;
    const list = runners.on(host);
    const count = runners.counts[host]!;
    let next = this.due.next(host, this.c.dueAt, list, 0, count);
    let turn = this.due.first(host);
    if (this.time.level[host]! > 0) {
      const virtual = this.dueVirtual.next(
        host,
        this.c.dueVirtual,
        list,
        runners.satisfied[host]!,
        count,
      );
      const at = now + Math.max(0, Math.ceil(this.time.until(host, virtual, now) - WORK_EPSILON));
      if (at <= next) {
        next = at;
        turn = this.dueVirtual.first(host);
        this.c.dueKind[turn] = this.c.virtualKind[turn]!;
      }
    }
    const timerDue = this.timerList.next(host);
    if (timerDue <= next) {
      next = timerDue;
      turn = -1;
    }
    this.turn[host] = turn;
    return next;
  }

  /** The activation of the event that `next` found; `dueKind` says which event. Timers go first. */
  first(host: number): number {
    const turn = this.turn[host]!;
    return turn >= 0 ? turn : this.timerList.first(host);
  }

  /** Cores that an activation has now, if its bucket is not empty. */
  rate(a: number): number {
    const c = this.c;
    if (c.onCore[a] === OnCore.satisfied) return c.cap[a]!;
    return c.onCore[a] === OnCore.sharing ? c.weight[a]! * this.time.level[c.host[a]!]! : 0;
  }

  #enter(a: number, host: number, now: number): void {
    const c = this.c;
    c.onCore[a] = OnCore.fresh;
    c.dueAt[a] = Number.POSITIVE_INFINITY;
    this.#list(a, now);
    this.fresh[host] = this.fresh[host] === -1 ? a : SEVERAL;
    this.dirty[host] = 1;
  }

  #list(a: number, now: number): void {
    const c = this.c;
    c.settledAt[a] = now;
    c.ratio[a] = c.cap[a]! / c.weight[a]!;
    this.runners.add(a);
  }

  #withdraw(a: number, host: number): void {
    this.runners.remove(a);
    this.due.gone(host, a);
    this.dueVirtual.gone(host, a);
    if (this.fresh[host] === a) this.fresh[host] = -1;
    if (this.contended[host] === 1) this.dirty[host] = 1;
  }

  #throttle(a: number, host: number, now: number): void {
    const c = this.c;
    this.watcher?.rateChanges(a, now);
    c.onCore[a] = OnCore.throttled;
    const deadline = c.deadline[a]!;
    const first = deadline < c.periodEnd[a]!;
    c.dueAt[a] = first ? deadline : c.periodEnd[a]!;
    c.dueKind[a] = first ? Due.deadline : Due.refill;
    this.timerList.add(a);
    this.dirty[host] = 1;
  }

  #plan(host: number, now: number): void {
    this.dirty[host] = 0;
    const contended = this.asked[host]! > this.cores + CORE_EPSILON;
    if (this.contended[host] === 1) {
      const from = this.time.since[host]!;
      if (now > from) this.levels.used(from, now, this.busy[host]! * (now - from));
    } else if (contended) this.#tighten(host, now);
    this.time.mark(host, now);
    if (contended) this.#divide(host, now);
    else this.#relax(host, now);
    this.fresh[host] = -1;
  }

  /** The host becomes tight: closed forms no longer hold. */
  #tighten(host: number, now: number): void {
    const c = this.c;
    const list = this.runners.on(host);
    for (let i = 0; i < this.runners.counts[host]!; i++) this.settle(list[i]!, now);
    for (let i = 0; i < this.runners.counts[host]!; ) {
      const a = list[i]!;
      if (isThrottled(c, a)) {
        this.runners.remove(a);
        this.#throttle(a, host, now);
      } else {
        c.onCore[a] = OnCore.fresh;
        i++;
      }
    }
    this.runners.restart(host);
    this.dirty[host] = 0;
    this.contended[host] = 1;
    this.fresh[host] = SEVERAL;
    this.free[host] = Number.POSITIVE_INFINITY;
    this.time.restart(host);
    this.due.forget(host);
    this.dueVirtual.forget(host);
  }

  /** The host is no longer tight: each activation gets its cap. */
  #relax(host: number, now: number): void {
    const c = this.c;
    const list = this.runners.on(host);
    const count = this.runners.counts[host]!;
    for (let i = 0; i < count; i++) {
      const a = list[i]!;
      this.settle(a, now);
      if (c.onCore[a] === OnCore.sharing) this.watcher?.rateChanges(a, now);
    }
    this.runners.restart(host);
    this.contended[host] = 0;
    this.time.level[host] = 0;
    for (let i = 0; i < count; i++) {
      c.onCore[list[i]!] = OnCore.satisfied;
      armUncontended(c, list[i]!, now);
    }
    this.due.forget(host);
    this.dueVirtual.clear(host);
  }

  #divide(host: number, now: number): void {
    const { runners } = this;
    const found = runners.divide(host, this.cores);
    const all = found === Number.POSITIVE_INFINITY;
    const level = all ? 0 : found;
    const line = runners.satisfied[host]!;
    const list = runners.on(host);
    this.busy[host] = all ? runners.caps(host) : this.cores;
    // Settling uses the virtual time of this instant, so the level can be set before it.
    this.time.level[host] = level;
    for (let i = runners.movedFrom; i < runners.movedTo; i++)
      this.#assign(list[i]!, host, i < line, now);
    const fresh = this.fresh[host]!;
    if (fresh >= 0) {
      // By position and not by ratio: rounding could put an equal ratio on the other side.
      if (this.c.onCore[fresh] === OnCore.fresh)
        this.#assign(fresh, host, runners.isSatisfied(fresh), now);
    } else if (fresh === SEVERAL) {
      for (let i = 0; i < runners.counts[host]!; i++)
        if (this.c.onCore[list[i]!] === OnCore.fresh) this.#assign(list[i]!, host, i < line, now);
    }
    if (level > this.free[host]!) this.#rewatch(host, now);
  }

  #assign(a: number, host: number, satisfied: boolean, now: number): void {
    const c = this.c;
    const before = c.onCore[a];
    if (before !== OnCore.fresh) {
      this.settle(a, now);
      this.watcher?.rateChanges(a, now);
    }
    if (satisfied) {
      c.onCore[a] = OnCore.satisfied;
      this.dueVirtual.gone(host, a);
      armAtCap(c, a, now);
    } else {
      c.onCore[a] = OnCore.sharing;
      this.#share(a, host, now);
    }
    this.due.changed(host, a, c.dueAt[a]!);
  }

  #share(a: number, host: number, now: number): void {
    const c = this.c;
    const level = this.time.level[host]!;
    const binding = bindingLevel(c, a, now);
    const crossing = crossingLevel(c, a, now);
    const bucket = level > binding;
    const crosses = level > crossing;
    if (!bucket && binding < this.free[host]!) this.free[host] = binding;
    if (!crosses && crossing < this.free[host]!) this.free[host] = crossing;
    armSharing(c, a, now, this.time.marked[host]!, bucket, crosses);
    this.dueVirtual.changed(host, a, c.dueVirtual[a]!);
  }

  /**
   * The level is so high that an unwatched bucket can be emptied or an unwatched crossing reached.
   */
  #rewatch(host: number, now: number): void {
    const c = this.c;
    const list = this.runners.on(host);
    this.free[host] = Number.POSITIVE_INFINITY;
    for (let i = this.runners.satisfied[host]!; i < this.runners.counts[host]!; i++) {
      const a = list[i]!;
      if (c.quota[a] === 0 && c.tripRate[a] === Number.POSITIVE_INFINITY) continue;
      this.settle(a, now);
      // Its rate has just risen: earlier use does not predict later use.
      this.watcher?.rateChanges(a, now);
      this.#share(a, host, now);
      this.due.changed(host, a, c.dueAt[a]!);
    }
  }
}
