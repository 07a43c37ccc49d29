import {
  type ActivationColumns,
  type Activations,
  OnCore as ON_CORE,
  Phase as PHASE,
  Stop as STOP,
} from './activations.js';
import { periodEndAt } from './bucket.js';
import type { Containers } from './containers.js';
import type { Cores } from './cores.js';
import { Fn as FN, type FunctionRows } from './function-rows.js';
import { progressAtLimit, residentAfter, workingSetAt } from './working-set.js';

const Fn = FN;
const OnCore = ON_CORE;
const Phase = PHASE;
const Stop = STOP;

/**
 * Limits of containers and their effect on the activations inside. Several activations in a
 * container share its weight and its bucket evenly; each is checked against the memory limit by
 * itself.
 */
export class Limits {
  declare private readonly c: ActivationColumns;
  declare private readonly containers: Containers;
  declare private readonly functions: FunctionRows;
  declare private readonly cores: Cores;
  /** Bytes of working set at which the safeguard trips, for the few activations that have it. */
  readonly #trips = new Map<number, number>();

  constructor(
    activations: Activations,
    containers: Containers,
    functions: FunctionRows,
    cores: Cores,
  ) {
    this.c = activations.columns;
    this.containers = containers;
    this.functions = functions;
    this.cores = cores;
  }

  /** A changed quota starts with a full bucket, as the kernel's does. 0 = none. */
  setQuota(container: number, quota: number, now: number): void {
    const k = this.containers.columns;
    if (k.quota[container] === quota) return;
    k.quota[container] = quota;
    k.used[container] = 0;
    for (let a = k.first[container]!; a >= 0; a = this.c.sibling[a]!) {
      if (this.c.onCore[a] === OnCore.not) continue;
      this.cores.leave(a, now);
      this.enter(a, now);
      this.c.used[a] = 0;
      this.cores.join(a, now);
    }
  }

  setWeight(container: number, weight: number, now: number): void {
    const k = this.containers.columns;
    if (k.weight[container] === weight) return;
    k.weight[container] = weight;
    for (let a = k.first[container]!; a >= 0; a = this.c.sibling[a]!) {
      if (this.c.onCore[a] === OnCore.not) continue;
      this.cores.leave(a, now);
      this.c.weight[a] = weight / k.active[container]!;
      this.cores.join(a, now);
    }
  }

  /** Bytes. Below the working set: the next step of work, however small, ends in an OOM kill. */
  setMemory(container: number, limit: number, now: number): void {
    const k = this.containers.columns;
    if (k.limit[container] === limit) return;
    k.limit[container] = limit;
    for (let a = k.first[container]!; a >= 0; a = this.c.sibling[a]!) {
      if (this.c.onCore[a] === OnCore.not) continue;
      this.cores.settle(a, now);
      this.aim(a);
      this.cores.interrupted(a, now);
    }
  }

  /** An activation is about to go on the CPU: its share of its container's weight and bucket. */
  enter(a: number, now: number): void {
    const c = this.c;
    const k = this.containers.columns;
    const container = c.container[a]!;
    const active = k.active[container]!;
    c.weight[a] = k.weight[container]! / active;
    const quota = k.quota[container]!;
    if (quota === 0) {
      c.quota[a] = 0;
      return;
    }
    const binding = this.functions.binding(c.fn[a]!, quota);
    c.quota[a] = binding / active;
    if (binding === 0) return;
    const end = periodEndAt(k.epoch[container]!, now);
    c.periodEnd[a] = end;
    // An earlier run of this period has used a part of the bucket.
    c.used[a] = k.periodEnd[container] === end ? k.used[container]! / active : 0;
  }

  /** Off the CPU; the columns are settled. */
  leave(a: number): void {
    const c = this.c;
    if (c.quota[a] === 0) return;
    const k = this.containers.columns;
    const container = c.container[a]!;
    const used = c.used[a]! * k.active[container]!;
    k.used[container] =
      k.periodEnd[container] === c.periodEnd[a]! ? Math.max(used, k.used[container]!) : used;
    k.periodEnd[container] = c.periodEnd[a]!;
  }

  /** Another activation joined the container or left it. */
  spread(container: number, now: number): void {
    const k = this.containers.columns;
    const c = this.c;
    const active = k.active[container]!;
    for (let a = k.first[container]!; a >= 0; a = c.sibling[a]!) {
      if (c.onCore[a] === OnCore.not) continue;
      this.cores.leave(a, now);
      const before = c.quota[a]!;
      const quota = this.functions.binding(c.fn[a]!, k.quota[container]!) / active;
      c.weight[a] = k.weight[container]! / active;
      c.quota[a] = quota;
      if (before > 0) c.used[a] = (c.used[a]! * quota) / before;
      this.cores.join(a, now);
    }
  }

  /** Sets the next event of an activation's work: its end, its I/O wait, or a memory limit. */
  aim(a: number): void {
    const c = this.c;
    const work = c.work[a]!;
    let stop = c.phase[a] === Phase.before && c.io[a]! > 0 ? work / 2 : work;
    let kind: number = Stop.work;
    if (c.phase[a] !== Phase.init) {
      const container = c.container[a]!;
      const k = this.containers.columns;
      const resident = k.resident[container]!;
      const growth = this.functions.get(c.fn[a]!, Fn.growth);
      const killed = progressAtLimit(resident, c.peak[a]!, growth, k.limit[container]!) * work;
      if (killed <= stop) {
        stop = killed;
        kind = Stop.memoryLimit;
      }
      const revise = c.reviseAt[a]!;
      if (revise > c.done[a]! && revise < stop) {
        stop = revise;
        kind = Stop.revise;
      }
      const trip = this.#trips.size > 0 ? this.#trips.get(a) : undefined;
      if (trip !== undefined) {
        const seen = progressAtLimit(resident, c.peak[a]!, growth, trip) * work;
        if (seen < stop) {
          stop = seen;
          kind = Stop.memoryTrip;
        }
      }
    }
    c.stop[a] = Math.max(stop, c.done[a]!);
    c.stopKind[a] = kind;
  }

  /**
   * Trips the safeguard when an activation's working set reaches `bytes`; Infinity: never. Call
   * `aim` after it.
   */
  watchMemory(a: number, bytes: number): void {
    if (bytes < Number.POSITIVE_INFINITY) this.#trips.set(a, bytes);
    else this.forget(a);
  }

  forget(a: number): void {
    if (this.#trips.size > 0) this.#trips.delete(a);
  }

  /** What stays in use in the container when an activation has ended, bytes. */
  retainedBy(a: number): number {
    const c = this.c;
    const fn = c.fn[a]!;
    const peak = Math.max(c.peak[a]!, this.containers.columns.resident[c.container[a]!]!);
    return residentAfter(
      this.functions.get(fn, Fn.base),
      peak,
      this.functions.get(fn, Fn.retained),
    );
  }

  /** Working set of an activation's container now, bytes. */
  workingSet(a: number): number {
    const c = this.c;
    const resident = this.containers.columns.resident[c.container[a]!]!;
    const phase = c.phase[a]!;
    if (phase !== Phase.before && phase !== Phase.waiting && phase !== Phase.after) return resident;
    const progress = c.work[a]! > 0 ? c.done[a]! / c.work[a]! : 1;
    return workingSetAt(
      resident,
      Math.max(resident, c.peak[a]!),
      this.functions.get(c.fn[a]!, Fn.growth),
      progress,
    );
  }
}

export function isOnCpu(phase: number): boolean {
  return phase === Phase.init || phase === Phase.before || phase === Phase.after;
}
