import { type ContainerTable, Phase } from './container-table.js';
import { interferenceFactor, shareCores, timeToThrottle, WORK_EPSILON } from './cpu.js';
import { progressAtLimit, residentAfter, workingSetAt } from './working-set.js';

/** Why `turn` shows a slot. */
export type Due = 'phase-done' | 'out-of-memory';

/**
 * The cores of one host and who is on them. Rates are constant between two plans, so each
 * container's work, bucket and counters are brought up to date only when someone looks (`settle`),
 * and the host needs one pending instant, `dueAt`: the first at which any of its containers
 * finishes a phase, is throttled, gets a new period, or meets its memory limit.
 */
export class Processor {
  readonly #table: ContainerTable;
  readonly #cores: number;
  readonly #interference: boolean;
  /** Slots that want a core, dense; the order is that of joining, so runs repeat. */
  #runnable = new Int32Array(64);
  #count = 0;
  #weights = new Float64Array(64);
  #caps = new Float64Array(64);
  #granted = new Float64Array(64);

  /**
   * Next instant at which the plan must change by itself, integer us; Infinity where nothing runs.
   */
  dueAt = Number.POSITIVE_INFINITY;
  /** The plan no longer fits what is there: `plan` before time moves on. */
  dirty = false;

  constructor(table: ContainerTable, cores: number, interference: boolean) {
    this.#table = table;
    this.#cores = cores;
    this.#interference = interference;
  }

  /** Cores in use by the present plan. */
  get busyCores(): number {
    let sum = 0;
    for (let i = 0; i < this.#count; i++) sum += this.#table.columns.rate[this.#runnable[i]!]!;
    return sum;
  }

  join(slot: number, now: number): void {
    if (this.#count === this.#runnable.length) this.#grow();
    this.#runnable[this.#count++] = slot;
    const c = this.#table.columns;
    c.settledAt[slot] = now;
    c.rate[slot] = 0;
    c.speed[slot] = 0;
    this.#turnPeriod(slot, now);
    this.dirty = true;
  }

  leave(slot: number, now: number): void {
    for (let i = 0; i < this.#count; i++) {
      if (this.#runnable[i] !== slot) continue;
      this.settle(slot, now);
      this.#runnable.copyWithin(i, i + 1, this.#count--);
      this.#table.columns.rate[slot] = 0;
      this.#table.columns.speed[slot] = 0;
      this.dirty = true;
      return;
    }
  }

  /** Working set of a container now, bytes. */
  workingSet(slot: number): number {
    const c = this.#table.columns;
    const phase = this.#table.phase[slot]!;
    if (phase === Phase.none || phase === Phase.init) return c.resident[slot]!;
    const progress = c.work[slot]! > 0 ? c.done[slot]! / c.work[slot]! : 1;
    return workingSetAt(c.resident[slot]!, c.peak[slot]!, c.growth[slot]!, progress);
  }

  /** Lets go of what an activation took, but for the share that stays in a warm container. */
  unload(slot: number, retained: number): void {
    const c = this.#table.columns;
    c.resident[slot] = residentAfter(c.base[slot]!, this.workingSet(slot), retained);
  }

  /** Brings one container's work, bucket and counters up to `now`; changes no rate. */
  settle(slot: number, now: number): void {
    const c = this.#table.columns;
    const span = now - c.settledAt[slot]!;
    if (span <= 0) return;
    c.settledAt[slot] = now;
    if (!this.#needsCore(slot)) return;
    const rate = c.rate[slot]!;
    const speed = c.speed[slot]!;
    const quota = c.quota[slot]!;
    let cpu = rate * span;
    let work = speed * span;
    // Instants are rounded up to whole microseconds; what was planned ends exactly, never a
    // microsecond's work later.
    const left = c.target[slot]! - c.done[slot]!;
    if (work > left) {
      cpu = speed > 0 ? (left / speed) * rate : 0;
      work = left;
    }
    if (quota > 0) {
      const index = Math.floor((now - c.epoch[slot]!) / c.period[slot]!);
      if (index === c.usedPeriod[slot]) {
        const budget = Math.max(0, quota - c.used[slot]!);
        if (cpu > budget) {
          work *= budget / cpu;
          cpu = budget;
        }
        c.used[slot]! += cpu;
      } else {
        c.periods[slot]! += index - c.usedPeriod[slot]!;
        c.usedPeriod[slot] = index;
        c.used[slot] = Math.min(cpu, rate * (now - c.epoch[slot]! - index * c.period[slot]!));
      }
    }
    c.done[slot]! += work;
    c.cpuUsed[slot]! += cpu;
    if (!this.#table.throttled[slot])
      c.waited[slot]! += span * Math.max(0, 1 - rate / c.parallelism[slot]!);
    const size = this.workingSet(slot);
    if (size > c.peakSeen[slot]!) c.peakSeen[slot] = size;
  }

  /**
   * Brings all up to `now`, takes throttling off and on where due. What has to go on is shown to
   * `visit`.
   */
  turn(now: number, visit: (slot: number, due: Due) => void): void {
    const table = this.#table;
    const c = table.columns;
    for (let i = 0; i < this.#count; i++) {
      const slot = this.#runnable[i]!;
      this.settle(slot, now);
      if (table.throttled[slot] && c.usedPeriod[slot]! > c.throttledIn[slot]!) {
        table.throttled[slot] = 0;
        // As the kernel counts: when the period ends and its group still waits.
        c.throttledPeriods[slot]!++;
      } else if (c.quota[slot]! > 0 && c.used[slot]! >= c.quota[slot]! - WORK_EPSILON) {
        table.throttled[slot] = 1;
        c.throttledIn[slot] = c.usedPeriod[slot]!;
      }
    }
    this.dirty = true;
    // Visiting may take slots out; from the back none is missed or seen twice.
    for (let i = this.#count - 1; i >= 0; i--) {
      const slot = this.#runnable[i]!;
      if (this.#untilMemoryLimit(slot) <= WORK_EPSILON) visit(slot, 'out-of-memory');
      else if (c.target[slot]! - c.done[slot]! <= WORK_EPSILON) visit(slot, 'phase-done');
    }
  }

  /** Shares the cores anew and finds the next instant. */
  plan(now: number): void {
    const table = this.#table;
    const c = table.columns;
    this.dirty = false;
    for (let i = 0; i < this.#count; i++) {
      const slot = this.#runnable[i]!;
      this.settle(slot, now);
      this.#weights[i] = c.weight[slot]!;
      this.#caps[i] = table.throttled[slot] ? 0 : c.parallelism[slot]!;
    }
    shareCores(this.#weights, this.#caps, this.#granted, this.#count, this.#cores);
    let pressure = 0;
    if (this.#interference) {
      for (let i = 0; i < this.#count; i++)
        pressure += (c.pressure[this.#runnable[i]!]! * this.#granted[i]!) / this.#cores;
    }
    let due = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.#count; i++) {
      const slot = this.#runnable[i]!;
      const rate = this.#granted[i]!;
      const others = pressure - (c.pressure[slot]! * rate) / this.#cores;
      const speed = this.#interference
        ? rate * interferenceFactor(c.sensitivity[slot]!, others)
        : rate;
      c.rate[slot] = rate;
      c.speed[slot] = speed;
      due = Math.min(due, this.#slotDue(slot, now));
    }
    this.dueAt = due;
  }

  /**
   * A changed quota starts with a full bucket and no throttling, as the kernel's does
   * (tg_set_cfs_bandwidth).
   */
  setQuota(slot: number, quota: number, now: number): void {
    this.settle(slot, now);
    this.#turnPeriod(slot, now);
    const c = this.#table.columns;
    c.quota[slot] = quota;
    c.used[slot] = 0;
    this.#table.throttled[slot] = 0;
    this.dirty = true;
  }

  setWeight(slot: number, weight: number, now: number): void {
    this.settle(slot, now);
    this.#table.columns.weight[slot] = weight;
    this.dirty = true;
  }

  #needsCore(slot: number): boolean {
    const phase = this.#table.phase[slot];
    return phase === Phase.init || phase === Phase.before || phase === Phase.after;
  }

  /**
   * A group that comes back finds the period that is running now, with a full bucket if it is
   * another one.
   */
  #turnPeriod(slot: number, now: number): void {
    const c = this.#table.columns;
    const index = Math.floor((now - c.epoch[slot]!) / c.period[slot]!);
    if (index === c.usedPeriod[slot]) return;
    c.usedPeriod[slot] = index;
    c.used[slot] = 0;
    this.#table.throttled[slot] = 0;
  }

  /** Work left until the memory limit is met, core-us. */
  #untilMemoryLimit(slot: number): number {
    const c = this.#table.columns;
    const inRun = this.#table.phase[slot] !== Phase.init;
    const peak = inRun ? c.peak[slot]! : c.resident[slot]!;
    const progress = progressAtLimit(c.resident[slot]!, peak, c.growth[slot]!, c.limit[slot]!);
    return progress === Number.POSITIVE_INFINITY
      ? progress
      : progress * c.work[slot]! - c.done[slot]!;
  }

  #slotDue(slot: number, now: number): number {
    const c = this.#table.columns;
    const period = c.period[slot]!;
    if (this.#table.throttled[slot])
      return Math.max(now, c.epoch[slot]! + (c.throttledIn[slot]! + 1) * period);
    const work = Math.min(c.target[slot]! - c.done[slot]!, this.#untilMemoryLimit(slot));
    if (work <= WORK_EPSILON) return now;
    const speed = c.speed[slot]!;
    let wait = speed > 0 ? work / speed : Number.POSITIVE_INFINITY;
    if (c.quota[slot]! > 0) {
      const phase = now - c.epoch[slot]! - c.usedPeriod[slot]! * period;
      wait = Math.min(
        wait,
        timeToThrottle(c.rate[slot]!, c.quota[slot]!, period, phase, c.used[slot]!),
      );
    }
    return now + Math.max(1, Math.ceil(wait - WORK_EPSILON));
  }

  #grow(): void {
    const size = this.#runnable.length * 2;
    const runnable = new Int32Array(size);
    runnable.set(this.#runnable);
    this.#runnable = runnable;
    this.#weights = new Float64Array(size);
    this.#caps = new Float64Array(size);
    this.#granted = new Float64Array(size);
  }
}
