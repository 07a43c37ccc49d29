import { Histograms } from './histogram.js';
import { ClusterOutcome as OUTCOME, StartKind as START_KIND } from './recorder.js';
import type { FunctionSummary, Statistics } from './summary.js';

const ClusterOutcome = OUTCOME;
const StartKind = START_KIND;

/** An activation slower than this x its contention-free duration counts as slow. */
export const SLOW = 1.2;
/** Fewer activations are not enough for a function's mean or p99. */
export const ENOUGH = 20;
/** Octaves: slowdowns to 65,536; durations from 1 us to 2^36 us = 19 h. */
const RATIO_OCTAVES = 16;
const DURATION_OCTAVES = 36;
/** RFET goes below one, where functions are accelerated: kept x 2^10. */
const RFET_SCALE = 1024;

/** Fields of a function's row; harvested and accelerated in core-ms. */
export const Row = {
  activations: 0,
  successes: 1,
  slowdownSum: 2,
  cold: 3,
  oom: 4,
  failed: 5,
  harvested: 6,
  accelerated: 7,
} as const;
const WIDTH = 8;
/** Successful activations that are counted together: their columns fit into the nearest cache. */
const BLOCK = 256;

/** Mean, maximum and distribution of one quantity over all functions. */
class Quantity {
  declare private readonly histogram: Histograms;
  declare private readonly scale: number;
  sum = 0;
  max = 0;
  count = 0;

  constructor(octaves: number, scale = 1) {
    this.histogram = new Histograms(1, octaves);
    this.scale = scale;
  }

  add(value: number): void {
    this.sum += value;
    this.count++;
    if (value > this.max) this.max = value;
    this.histogram.add(0, value * this.scale);
  }

  summary(unit = 1): Statistics {
    const at = (share: number) =>
      this.count === 0
        ? 0
        : Math.min(this.max, this.histogram.quantile(0, share) / this.scale) / unit;
    return {
      mean: this.count === 0 ? 0 : this.sum / this.count / unit,
      p50: at(0.5),
      p90: at(0.9),
      p99: at(0.99),
      max: this.max / unit,
    };
  }
}

/**
 * Results of all activations, added up as they end; its size grows with the functions and not with
 * the activations.
 */
export class OutcomeStatistics {
  readonly outcomes = new Float64Array(5);
  /** By `StartKind`. */
  readonly starts = new Float64Array(4);
  /** Activations that waited for a container, and for how long together, us. */
  waited = 0;
  waitMicros = 0;
  activations = 0;
  readonly #slowdown = new Quantity(RATIO_OCTAVES);
  readonly #rfet = new Quantity(RATIO_OCTAVES, RFET_SCALE);
  readonly #response = new Quantity(DURATION_OCTAVES);
  #slow = 0;
  /** A row a function: see `Row`. */
  declare private readonly rows: Float64Array;
  declare private readonly slowdowns: Histograms;
  declare private readonly latencies: Histograms;
  declare private readonly alone: Histograms;
  /**
   * Successful activations that are not counted yet, as columns: each of a thousand functions has
   * its own part of each histogram, so that one after the other would wait for memory each time.
   */
  #waiting = 0;
  readonly #fn = new Int32Array(BLOCK);
  readonly #responses = new Float64Array(BLOCK);
  readonly #seen = new Float64Array(BLOCK);
  readonly #runs = new Float64Array(BLOCK);
  readonly #solo = new Float64Array(BLOCK);
  readonly #user = new Float64Array(BLOCK);
  readonly #ratios = new Float64Array(BLOCK);
  readonly #sloFactor: number;

  /**
   * `sloFactor`: the default objective is this x the p99 alone at user limits, as the product has
   * it on the control arm.
   */
  constructor(functions: number, sloFactor: number) {
    this.#sloFactor = sloFactor;
    this.rows = new Float64Array(WIDTH * functions);
    this.slowdowns = new Histograms(functions, RATIO_OCTAVES);
    this.latencies = new Histograms(functions, DURATION_OCTAVES);
    this.alone = new Histograms(functions, DURATION_OCTAVES);
  }

  /** `wait`: us until a container was found for it. */
  ended(fn: number, outcome: number, start: number, wait: number): void {
    this.activations++;
    this.add(fn, Row.activations, 1);
    this.outcomes[outcome] = this.outcomes[outcome]! + 1;
    this.starts[start] = this.starts[start]! + 1;
    if (start === StartKind.cold) this.add(fn, Row.cold, 1);
    if (outcome === ClusterOutcome.outOfMemory) this.add(fn, Row.oom, 1);
    if (outcome !== ClusterOutcome.success) this.add(fn, Row.failed, 1);
    if (wait > 0) {
      this.waited++;
      this.waitMicros += wait;
    }
  }

  /**
   * A successful one, us: response, init + run as the tap sees them, run alone, and how long the
   * run takes without any contention at its true demand and at its user's limits.
   */
  succeeded(
    fn: number,
    response: number,
    latency: number,
    execution: number,
    solo: number,
    user: number,
  ): void {
    const i = this.#waiting++;
    this.#fn[i] = fn;
    this.#responses[i] = response;
    this.#seen[i] = latency;
    this.#runs[i] = execution;
    this.#solo[i] = solo;
    this.#user[i] = user;
    if (this.#waiting === BLOCK) this.#count();
  }

  /** Response over the contention-free duration. */
  get slowdown(): Quantity {
    this.#count();
    return this.#slowdown;
  }

  get rfet(): Quantity {
    this.#count();
    return this.#rfet;
  }

  /** us. */
  get response(): Quantity {
    this.#count();
    return this.#response;
  }

  /** Activations that were slower than {@link SLOW}. */
  get slow(): number {
    this.#count();
    return this.#slow;
  }

  /** Counts the successful activations that wait for it, in the order in which they ended. */
  #count(): void {
    const count = this.#waiting;
    this.#waiting = 0;
    const [fn, responses, ratios] = [this.#fn, this.#responses, this.#ratios];
    for (let i = 0; i < count; i++) {
      const [response, solo] = [responses[i]!, this.#solo[i]!];
      // Instants are whole microseconds and work is not: nothing is faster than alone.
      const slowdown = response > solo ? response / solo : 1;
      ratios[i] = slowdown;
      if (slowdown > SLOW) this.#slow++;
      this.#slowdown.add(slowdown);
      this.#rfet.add(this.#runs[i]! / this.#user[i]!);
      this.#response.add(response);
    }
    for (let i = 0; i < count; i++) {
      this.add(fn[i]!, Row.successes, 1);
      this.add(fn[i]!, Row.slowdownSum, ratios[i]!);
    }
    this.slowdowns.addAll(fn, ratios, count);
    this.latencies.addAll(fn, this.#seen, count);
    this.alone.addAll(fn, this.#user, count);
  }

  /** `place`: one of {@link Row}. */
  get(fn: number, place: number): number {
    if (this.#waiting > 0) this.#count();
    return this.rows[WIDTH * fn + place]!;
  }

  add(fn: number, place: number, amount: number): void {
    const at = WIDTH * fn + place;
    this.rows[at] = this.rows[at]! + amount;
  }

  functionSummary(fn: number, name: string, sloMs: number | undefined): FunctionSummary {
    const successes = this.get(fn, Row.successes);
    const known = successes > 0;
    const slo = sloMs ?? (known ? (this.#sloFactor * this.alone.quantile(fn, 0.99)) / 1000 : null);
    return {
      name,
      activations: this.get(fn, Row.activations),
      meanSlowdown: known ? this.get(fn, Row.slowdownSum) / successes : 0,
      p99Slowdown: known ? this.slowdowns.quantile(fn, 0.99) : 0,
      p99Ms: known ? this.latencies.quantile(fn, 0.99) / 1000 : 0,
      sloMs: slo,
      late: slo === null ? 0 : this.latencies.above(fn, 1000 * slo) + this.get(fn, Row.failed),
      coldStarts: this.get(fn, Row.cold),
      oomKills: this.get(fn, Row.oom),
      failures: this.get(fn, Row.failed),
      harvested: this.get(fn, Row.harvested) / 1000,
      accelerated: this.get(fn, Row.accelerated) / 1000,
    };
  }

  /** Has enough successful activations for its figures to mean something. */
  isKnown(fn: number): boolean {
    return this.get(fn, Row.successes) >= ENOUGH;
  }
}
