import { bucketOf, LATENCY_BUCKETS } from '../../broker/messages/index.js';
import type { Random } from '../../config/index.js';
import type { ArrivalRates } from './rates.js';
import type { ScaledFunction } from './scaled-function.js';

/**
 * An activation that has waited so long is given up, ms (OpenWhisk's longest wait for a `/run`).
 */
export const RESPONSE_TIMEOUT_MILLIS = 60_000;
/**
 * An OOM kill comes where the working set is highest: after this share of the CPU work (profiles:
 * growth .5).
 */
const OOM_AT = 0.5;
/** The wait of activations that were given up counts as the longest latency there is. */
const LOST_BUCKET = LATENCY_BUCKETS - 1;

/** What a function did in one step. Times in ms, CPU in core-ms, memory in bytes. */
export class Window {
  arrived = 0;
  /** Ended well; of these slower than the SLO. */
  ended = 0;
  late = 0;
  /** Killed for memory, or given up while they waited. */
  killed = 0;
  lost = 0;
  coldStarts = 0;
  cpu = 0;
  /** Containers' time with an activation. */
  busy = 0;
  /** Of activations that ended: run and response times. */
  runSum = 0;
  responseSum = 0;
  responseMax = 0;
  peakSum = 0;
  peakMax = 0;
  /** Response times, and run times, in the buckets of `LatencyHistogram`. */
  readonly responses = new Int32Array(LATENCY_BUCKETS);
  readonly runs = new Int32Array(LATENCY_BUCKETS);
  runMax = 0;

  clear(): void {
    this.arrived = this.ended = this.late = this.killed = this.lost = this.coldStarts = 0;
    this.cpu = this.busy = this.runSum = this.responseSum = this.responseMax = 0;
    this.peakSum = this.peakMax = this.runMax = 0;
    this.responses.fill(0);
    this.runs.fill(0);
  }
}

interface Container {
  /** From when on it can take an activation; it is starting before that. */
  freeAt: number;
  serving: boolean;
  /**
   * Of the activation it serves: arrival, start, what is left of wait and work, and the highest
   * working set.
   */
  arrivedAt: number;
  startedAt: number;
  io: number;
  cpu: number;
  peak: number;
  /** Goes as soon as its activation has ended. */
  leaving: boolean;
}

/** Receives each response time, ms; a failed activation counts as the client's timeout. */
export type ResponseSink = (millis: number) => void;

/**
 * One function: activations come by a rate, wait in one line, first come first served, and run one
 * at a time in each container: first the wait for others, then the CPU work at the container's
 * rate. Exact event by event between changes of the rate, which come from outside.
 */
export class FunctionQueue {
  readonly window = new Window();
  slo = Number.POSITIVE_INFINITY;
  sink: ResponseSink | null = null;
  readonly #fn: ScaledFunction;
  readonly #containers: Container[] = [];
  #random!: Random;
  #rates!: ArrivalRates;
  #nextArrival = Number.POSITIVE_INFINITY;
  /** Arrival times and rows of demand of those who wait; `#head` is the first of them. */
  #waitingAt: number[] = [];
  #waitingRow: number[] = [];
  #head = 0;

  constructor(fn: ScaledFunction) {
    this.#fn = fn;
  }

  /** Empty, with `containers` that are ready. */
  reset(rates: ArrivalRates, random: Random, containers: number): void {
    this.#random = random;
    this.#rates = rates;
    this.#containers.length = 0;
    this.#waitingAt = [];
    this.#waitingRow = [];
    this.#head = 0;
    for (let i = 0; i < containers; i++) this.#add(0);
    this.#nextArrival = rates.next(0, random);
    this.window.clear();
  }

  get containers(): number {
    let count = 0;
    for (const one of this.#containers) if (!one.leaving) count++;
    return count;
  }
  get waiting(): number {
    return this.#waitingAt.length - this.#head;
  }
  /** Since when the first in the queue waits; Infinity: the queue is empty. */
  get waitingSince(): number {
    return this.#waitingAt[this.#head] ?? Number.POSITIVE_INFINITY;
  }
  get serving(): number {
    let count = 0;
    for (const one of this.#containers) if (one.serving) count++;
    return count;
  }

  /** Containers are added (they start first) or taken away, idle ones before those that serve. */
  scaleTo(count: number, now: number, startMs: number): void {
    let have = this.containers;
    for (const one of this.#containers) {
      if (have >= count) break;
      if (one.leaving) {
        one.leaving = false;
        have++;
      }
    }
    for (; have < count; have++) {
      this.#add(now + startMs);
      this.window.coldStarts++;
    }
    for (let i = this.#containers.length - 1; i >= 0 && have > count; i--) {
      if (this.#containers[i]!.serving) continue;
      this.#containers.splice(i, 1);
      have--;
    }
    for (let i = this.#containers.length - 1; i >= 0 && have > count; i--) {
      const one = this.#containers[i]!;
      if (one.leaving) continue;
      one.leaving = true;
      have--;
    }
  }

  #add(freeAt: number): void {
    this.#containers.push({
      freeAt,
      serving: false,
      arrivedAt: 0,
      startedAt: 0,
      io: 0,
      cpu: 0,
      peak: 0,
      leaving: false,
    });
  }

  /**
   * Plays from `from` to `to`. `rate`: cores that a running activation gets; `memory`: each
   * container's limit; `restartMs`: a killed container's way back.
   */
  advance(from: number, to: number, rate: number, memory: number, restartMs: number): void {
    for (let i = this.#containers.length - 1; i >= 0; i--) {
      const one = this.#containers[i]!;
      if (one.serving) this.#go(one, from, to, rate, memory, restartMs);
      if (one.leaving && !one.serving) this.#containers.splice(i, 1);
    }
    this.#arrive(to);
    for (;;) {
      if (this.#head === this.#waitingAt.length) break;
      const one = this.#first();
      if (one === null) break;
      const arrivedAt = this.#waitingAt[this.#head]!;
      const start = Math.max(arrivedAt, one.freeAt, from);
      if (start >= to) break;
      const row = this.#waitingRow[this.#head]!;
      this.#head++;
      one.serving = true;
      one.arrivedAt = arrivedAt;
      one.startedAt = start;
      one.io = this.#fn.io[row]!;
      one.cpu = this.#fn.cpu[row]!;
      one.peak = this.#fn.peak[row]!;
      if (one.peak > memory) one.cpu *= OOM_AT;
      this.#go(one, start, to, rate, memory, restartMs);
    }
    this.#giveUp(to);
    if (this.#head > 1024) {
      this.#waitingAt = this.#waitingAt.slice(this.#head);
      this.#waitingRow = this.#waitingRow.slice(this.#head);
      this.#head = 0;
    }
  }

  #arrive(to: number): void {
    const rows = this.#fn.cpu.length;
    while (this.#nextArrival < to) {
      this.#waitingAt.push(this.#nextArrival);
      this.#waitingRow.push(this.#random.below(rows));
      this.window.arrived++;
      this.#nextArrival = this.#rates.next(this.#nextArrival, this.#random);
    }
  }

  /** The container that is free first and stays; null: all serve. */
  #first(): Container | null {
    let first: Container | null = null;
    for (const one of this.#containers)
      if (!one.serving && !one.leaving && (first === null || one.freeAt < first.freeAt))
        first = one;
    return first;
  }

  /** The activation of a container goes on, to its end or to `to`. */
  #go(
    one: Container,
    from: number,
    to: number,
    rate: number,
    memory: number,
    restartMs: number,
  ): void {
    const { window } = this;
    const end = from + one.io + one.cpu / rate;
    if (end > to) {
      const passed = to - from;
      const worked = Math.max(0, passed - one.io);
      one.io = Math.max(0, one.io - passed);
      one.cpu -= worked * rate;
      window.cpu += worked * rate;
      window.busy += passed;
      return;
    }
    window.cpu += one.cpu;
    window.busy += end - from;
    one.serving = false;
    one.freeAt = end;
    window.peakSum += Math.min(one.peak, memory);
    if (one.peak > window.peakMax) window.peakMax = one.peak;
    if (one.peak > memory) {
      window.killed++;
      window.responses[LOST_BUCKET]!++;
      one.freeAt = end + restartMs;
      this.sink?.(RESPONSE_TIMEOUT_MILLIS);
      return;
    }
    const response = end - one.arrivedAt;
    const run = end - one.startedAt;
    window.ended++;
    window.runSum += run;
    window.responseSum += response;
    if (response > this.slo) window.late++;
    if (response > window.responseMax) window.responseMax = response;
    if (run > window.runMax) window.runMax = run;
    window.responses[bucketOf(response)]!++;
    window.runs[bucketOf(run)]!++;
    this.sink?.(response);
  }

  #giveUp(now: number): void {
    while (this.waitingSince < now - RESPONSE_TIMEOUT_MILLIS) {
      this.#head++;
      this.window.lost++;
      this.window.responses[LOST_BUCKET]!++;
      this.sink?.(RESPONSE_TIMEOUT_MILLIS);
    }
  }
}
