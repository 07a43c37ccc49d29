import { timeToThrottle, WORK_EPSILON } from '../host/cpu.js';
import { PERIOD_MICROS } from '../host/placement.js';
import { type ActivationColumns, type Activations, Due, OnCore } from './activations.js';
import { drawFromBucket, isThrottled, timeInBucket } from './bucket.js';
import { canCross, crossingAt } from './crossing.js';
import type { Levels } from './levels.js';
import { Runners } from './runners.js';
import { Sleepers } from './sleepers.js';

/** Cores by which more may be asked than there are before anybody has to give way: rounding of doubles. */
const CORE_EPSILON = 1e-6;

/** Told before the rate of an activation changes; its columns are settled. */
export interface RateWatcher {
  rateChanges(activation: number, now: number): void;
}

/**
 * The cores of all hosts and who is on them: weighted max-min within caps and quotas (design §6b), at a few operations an event.
 *
 * On a host where all together ask for no more than there is, each one's end is known when it joins, quotas included (closed form), and
 * nobody's coming or going changes it. Where they ask for more the host is *tight*: who is satisfied runs at its cap, so its
 * end is known too; all others run at weight x level, so in the host's *virtual time* (which passes at the level) their ends are
 * known, whatever the level does. A plan finds the level and touches only those whom it passes.
 */
export class Cores {
  readonly sleepers: Sleepers;
  readonly runners: Runners;
  watcher: RateWatcher | null = null;
  readonly #c: ActivationColumns;
  readonly #cores: number;
  readonly #levels: Levels;
  /** By host: cores asked for by all on the CPU, those throttled included, and how many they are. */
  readonly #asked: Float64Array;
  readonly #wanting: Int32Array;
  readonly #tight: Uint8Array;
  readonly #dirty: Uint8Array;
  /** Earliest instant at which a runner is due, and whose it is; NaN = to be looked for. */
  readonly #next: Float64Array;
  readonly #first: Int32Array;
  /** Virtual time as it was at `#planned`; it passes at the level. */
  readonly #virtual: Float64Array;
  readonly #level: Float64Array;
  readonly #planned: Float64Array;
  /** No bucket that is not watched can be used up below this level. */
  readonly #free: Float64Array;
  /** Cores in use since `#planned`, on a tight host. */
  readonly #busy: Float64Array;

  constructor(activations: Activations, hosts: number, cores: number, levels: Levels) {
    this.#c = activations.columns;
    this.sleepers = new Sleepers(activations.columns, hosts);
    this.runners = new Runners(activations.columns, hosts);
    this.#cores = cores;
    this.#levels = levels;
    this.#asked = new Float64Array(hosts);
    this.#wanting = new Int32Array(hosts);
    this.#tight = new Uint8Array(hosts);
    this.#dirty = new Uint8Array(hosts);
    this.#next = new Float64Array(hosts).fill(Number.POSITIVE_INFINITY);
    this.#first = new Int32Array(hosts).fill(-1);
    this.#virtual = new Float64Array(hosts);
    this.#level = new Float64Array(hosts);
    this.#free = new Float64Array(hosts).fill(Number.POSITIVE_INFINITY);
    this.#planned = new Float64Array(hosts);
    this.#busy = new Float64Array(hosts);
  }

  /** Starts to want a core: `done`, `stop`, `cap`, `weight`, bucket, deadline and what is watched are set. */
  join(a: number, now: number): void {
    const c = this.#c;
    const host = c.host[a]!;
    const asked = this.#asked[host]! + c.cap[a]!;
    this.#asked[host] = asked;
    this.#wanting[host] = this.#wanting[host]! + 1;
    this.#enter(a, now);
    if (this.#dirty[host] === 1) return;
    if (this.#tight[host] === 1 || asked > this.#cores + CORE_EPSILON) {
      this.#dirty[host] = 1;
      return;
    }
    c.onCore[a] = OnCore.satisfied;
    const due = this.#armAlone(a, now);
    if (due < this.#next[host]!) {
      this.#next[host] = due;
      this.#first[host] = a;
    }
  }

  leave(a: number, now: number): void {
    const c = this.#c;
    const host = c.host[a]!;
    if (c.onCore[a] === OnCore.throttled) this.sleepers.remove(a);
    else {
      this.settle(a, now);
      this.#withdraw(a, host);
    }
    c.onCore[a] = OnCore.not;
    const count = this.#wanting[host]! - 1;
    this.#wanting[host] = count;
    // An idle host begins at zero again: sums of fractions drift.
    this.#asked[host] = count === 0 ? 0 : this.#asked[host]! - c.cap[a]!;
  }

  /** One that runs is due for another reason than its end: the bucket is empty, or there is something to be seen. */
  interrupted(a: number, now: number): void {
    const c = this.#c;
    const host = c.host[a]!;
    this.settle(a, now);
    this.#withdraw(a, host);
    if (this.#tight[host] === 1 && isThrottled(c, a)) this.#throttle(a, now);
    else this.#enter(a, now);
    this.#dirty[host] = 1;
  }

  /** A new period begins for one that was throttled. */
  refilled(a: number, now: number): void {
    const c = this.#c;
    const host = c.host[a]!;
    this.sleepers.remove(a);
    c.used[a] = 0;
    c.periodEnd[a] = c.periodEnd[a]! + PERIOD_MICROS;
    this.#enter(a, now);
    this.#dirty[host] = 1;
  }

  /** Brings one activation's work and bucket up to `now`; changes no rate. */
  settle(a: number, now: number): void {
    const c = this.#c;
    const from = c.settledAt[a]!;
    const span = now - from;
    if (span <= 0) return;
    const state = c.onCore[a];
    if (state === OnCore.throttled || state === OnCore.not) {
      c.settledAt[a] = now;
      return;
    }
    const host = c.host[a]!;
    let cpu: number;
    if (state === OnCore.sharing) {
      const virtual = this.#virtualAt(host, now);
      cpu = c.weight[a]! * (virtual - c.settledVirtual[a]!);
      c.settledVirtual[a] = virtual;
      if (c.quota[a]! > 0) cpu = drawFromBucket(c, a, cpu / span, span);
    } else {
      const cap = c.cap[a]!;
      cpu = c.quota[a]! > 0 ? drawFromBucket(c, a, cap, span) : cap * span;
    }
    c.settledAt[a] = now;
    // Instants are rounded up to whole microseconds; what was planned ends exactly, never a microsecond's work later.
    cpu = Math.min(cpu, c.stop[a]! - c.done[a]!);
    c.done[a] = c.done[a]! + cpu;
    c.cpuUsed[a] = c.cpuUsed[a]! + cpu;
    if (this.#tight[host] === 0) this.#levels.used(from, now, cpu);
  }

  /** Next instant at which something is due on a host; shares the cores anew first where that is needed. */
  next(host: number, now: number): number {
    if (this.#dirty[host] === 1) this.#plan(host, now);
    let next = this.#next[host]!;
    if (Number.isNaN(next)) {
      next = this.#earliest(host, now);
      this.#next[host] = next;
    }
    return Math.min(next, this.sleepers.next(host));
  }

  /** Whose instant `next` is, with `dueKind` saying what is due. Who sleeps goes first. */
  first(host: number): number {
    if (this.sleepers.next(host) <= this.#next[host]!) return this.sleepers.first(host);
    return this.#first[host]!;
  }

  /** Cores an activation has now, where no quota is about to bind. */
  rate(a: number): number {
    const c = this.#c;
    if (c.onCore[a] === OnCore.satisfied) return c.cap[a]!;
    return c.onCore[a] === OnCore.sharing ? c.weight[a]! * this.#level[c.host[a]!]! : 0;
  }

  #enter(a: number, now: number): void {
    const c = this.#c;
    c.onCore[a] = OnCore.fresh;
    c.settledAt[a] = now;
    c.dueAt[a] = Number.POSITIVE_INFINITY;
    c.ratio[a] = c.cap[a]! / c.weight[a]!;
    this.runners.add(a);
  }

  #withdraw(a: number, host: number): void {
    this.runners.remove(a);
    if (this.#tight[host] === 1) this.#dirty[host] = 1;
    else this.#next[host] = Number.NaN;
  }

  #throttle(a: number, now: number): void {
    const c = this.#c;
    this.watcher?.rateChanges(a, now);
    c.onCore[a] = OnCore.throttled;
    c.dueAt[a] = c.periodEnd[a]!;
    c.dueKind[a] = Due.refill;
    if (c.deadline[a]! < c.periodEnd[a]!) {
      c.dueAt[a] = c.deadline[a]!;
      c.dueKind[a] = Due.deadline;
    }
    this.sleepers.add(a);
  }

  #virtualAt(host: number, now: number): number {
    return this.#virtual[host]! + this.#level[host]! * (now - this.#planned[host]!);
  }

  #plan(host: number, now: number): void {
    this.#dirty[host] = 0;
    const wasTight = this.#tight[host] === 1;
    const tight = this.#asked[host]! > this.#cores + CORE_EPSILON;
    if (wasTight) {
      const from = this.#planned[host]!;
      if (now > from) this.#levels.used(from, now, this.#busy[host]! * (now - from));
      this.#virtual[host] = this.#virtualAt(host, now);
    } else if (tight) this.#tighten(host, now);
    this.#planned[host] = now;
    if (tight) this.#divide(host, now);
    else this.#relax(host, now);
    this.#next[host] = Number.NaN;
  }

  /** All together ask for too much from now on: no closed form any more. */
  #tighten(host: number, now: number): void {
    const c = this.#c;
    const list = this.runners.on(host);
    let count = this.runners.counts[host]!;
    for (let i = 0; i < count; i++) this.settle(list[i]!, now);
    for (let i = 0; i < count; ) {
      const a = list[i]!;
      if (isThrottled(c, a)) {
        this.runners.remove(a);
        this.#throttle(a, now);
        count--;
      } else {
        c.onCore[a] = OnCore.fresh;
        i++;
      }
    }
    this.#tight[host] = 1;
    this.#free[host] = Number.POSITIVE_INFINITY;
    this.#virtual[host] = 0;
    this.#level[host] = 0;
  }

  /** Everybody gets all they can use from now on. */
  #relax(host: number, now: number): void {
    const c = this.#c;
    const list = this.runners.on(host);
    const count = this.runners.counts[host]!;
    for (let i = 0; i < count; i++) {
      const a = list[i]!;
      this.settle(a, now);
      if (c.onCore[a] === OnCore.sharing) this.watcher?.rateChanges(a, now);
    }
    this.#tight[host] = 0;
    this.#level[host] = 0;
    this.#busy[host] = 0;
    for (let i = 0; i < count; i++) {
      c.onCore[list[i]!] = OnCore.satisfied;
      this.#armAlone(list[i]!, now);
    }
  }

  /**
   * Weighted max-min: in order of cap / weight everyone up to the level is satisfied; the level is what is left over the weights that
   * are left.
   */
  #divide(host: number, now: number): void {
    const { cap, weight, ratio, onCore } = this.#c;
    const list = this.runners.on(host);
    const count = this.runners.counts[host]!;
    let weights = 0;
    for (let i = 0; i < count; i++) weights += weight[list[i]!]!;
    let left = this.#cores;
    let satisfied = 0;
    let level = left / weights;
    for (; satisfied < count; satisfied++) {
      const a = list[satisfied]!;
      if (ratio[a]! > level) break;
      left -= cap[a]!;
      weights -= weight[a]!;
      level = Math.max(level, left / weights);
    }
    const all = satisfied === count;
    for (let i = 0; i < satisfied; i++) if (onCore[list[i]!] !== OnCore.satisfied) this.#satisfy(list[i]!, now);
    this.#level[host] = all ? 0 : level;
    this.#busy[host] = all ? this.#cores - left : this.#cores;
    for (let i = satisfied; i < count; i++)
      if (onCore[list[i]!] !== OnCore.sharing) this.#letShare(list[i]!, host, now);
    if (this.#level[host]! > this.#free[host]!) this.#rewatch(host, now);
  }

  #satisfy(a: number, now: number): void {
    const c = this.#c;
    if (c.onCore[a] === OnCore.sharing) {
      this.settle(a, now);
      this.watcher?.rateChanges(a, now);
    }
    c.onCore[a] = OnCore.satisfied;
    this.#armSatisfied(a, now);
  }

  #letShare(a: number, host: number, now: number): void {
    const c = this.#c;
    if (c.onCore[a] === OnCore.satisfied) {
      this.settle(a, now);
      this.watcher?.rateChanges(a, now);
    }
    c.onCore[a] = OnCore.sharing;
    const virtual = this.#virtual[host]!;
    c.settledVirtual[a] = virtual;
    const weight = c.weight[a]!;
    c.dueVirtual[a] = virtual + Math.max(0, c.stop[a]! - c.done[a]!) / weight;
    c.virtualKind[a] = Due.stop;
    if (c.quota[a]! > 0) this.#watchBucket(a, host, virtual);
    c.dueAt[a] = c.deadline[a]!;
    c.dueKind[a] = Due.deadline;
    this.#watch(a, now);
  }

  /** One that shares cannot use its bucket up while the level is below what its quota comes to. */
  #watchBucket(a: number, host: number, virtual: number): void {
    const c = this.#c;
    const weight = c.weight[a]!;
    const quota = c.quota[a]!;
    const binding = quota / (PERIOD_MICROS * weight);
    if (this.#level[host]! <= binding) {
      if (binding < this.#free[host]!) this.#free[host] = binding;
      return;
    }
    const empty = virtual + Math.max(0, quota - c.used[a]!) / weight;
    if (empty < c.dueVirtual[a]!) {
      c.dueVirtual[a] = empty;
      c.virtualKind[a] = Due.throttle;
    }
  }

  /** The level is high enough for some bucket to be used up that was not watched. */
  #rewatch(host: number, now: number): void {
    const c = this.#c;
    const list = this.runners.on(host);
    const count = this.runners.counts[host]!;
    this.#free[host] = Number.POSITIVE_INFINITY;
    for (let i = 0; i < count; i++) {
      const a = list[i]!;
      if (c.onCore[a] !== OnCore.sharing || c.quota[a] === 0) continue;
      this.settle(a, now);
      this.#letShare(a, host, now);
    }
  }

  /** On a host that is not tight: all that is to come of it is known. */
  #armAlone(a: number, now: number): number {
    const c = this.#c;
    const left = c.stop[a]! - c.done[a]!;
    const cap = c.cap[a]!;
    if (left <= WORK_EPSILON) this.#due(a, now, 0);
    else this.#due(a, now, c.quota[a]! > 0 ? timeInBucket(c, a, cap, left) : left / cap);
    this.#watch(a, now);
    return c.dueAt[a]!;
  }

  #armSatisfied(a: number, now: number): void {
    const c = this.#c;
    const cap = c.cap[a]!;
    this.#due(a, now, Math.max(0, c.stop[a]! - c.done[a]!) / cap);
    const quota = c.quota[a]!;
    if (quota > 0) {
      const phase = PERIOD_MICROS - (c.periodEnd[a]! - now);
      const empty = now + Math.ceil(timeToThrottle(cap, quota, PERIOD_MICROS, phase, c.used[a]!));
      if (empty < c.dueAt[a]!) {
        c.dueAt[a] = empty;
        c.dueKind[a] = Due.throttle;
      }
    }
    this.#watch(a, now);
  }

  /** At the same instant the work that is done counts, not the time limit. */
  #due(a: number, now: number, wait: number): void {
    const c = this.#c;
    const at = now + Math.ceil(wait - WORK_EPSILON);
    const deadline = c.deadline[a]!;
    c.dueAt[a] = Math.min(at, deadline);
    c.dueKind[a] = at <= deadline ? Due.stop : Due.deadline;
  }

  #watch(a: number, now: number): void {
    const c = this.#c;
    if (!canCross(c, a)) return;
    const at = crossingAt(c, a, now, this.#tight[c.host[a]!] === 0);
    if (at >= c.dueAt[a]!) return;
    c.dueAt[a] = at;
    c.dueKind[a] = Due.crossing;
  }

  #earliest(host: number, now: number): number {
    const c = this.#c;
    const { dueAt, onCore, dueVirtual } = c;
    const list = this.runners.on(host);
    const count = this.runners.counts[host]!;
    let next = Number.POSITIVE_INFINITY;
    let first = -1;
    let virtual = Number.POSITIVE_INFINITY;
    let sharer = -1;
    for (let i = 0; i < count; i++) {
      const a = list[i]!;
      const at = dueAt[a]!;
      if (at < next) {
        next = at;
        first = a;
      }
      if (onCore[a] === OnCore.sharing && dueVirtual[a]! < virtual) {
        virtual = dueVirtual[a]!;
        sharer = a;
      }
    }
    if (sharer >= 0) {
      const wait = (virtual - this.#virtualAt(host, now)) / this.#level[host]!;
      const at = now + Math.max(0, Math.ceil(wait - WORK_EPSILON));
      if (at <= next) {
        next = at;
        first = sharer;
        c.dueKind[sharer] = c.virtualKind[sharer]!;
      }
    }
    this.#first[host] = first;
    return next;
  }
}
