import { Histograms } from './histogram.js';
import { ClusterOutcome, StartKind } from './recorder.js';
import type { FunctionSummary, Statistics } from './summary.js';

/** An activation slower than this x its contention-free duration counts as slow. */
const SLOW = 1.2;
/** Objective where none is stated: this x the p99 alone at user limits (design §6 uses the same factor on the control arm). */
const SLO_FACTOR = 1.2;
/** Fewer activations say nothing about a function's mean or p99. */
const ENOUGH = 20;
/** Octaves: slowdowns to 65,536; durations from 1 us to 2^36 us = 19 h. */
const RATIO_OCTAVES = 16;
const DURATION_OCTAVES = 36;
/** RFET goes below one, where functions are accelerated: kept x 2^10. */
const RFET_SCALE = 1024;

/** Mean, maximum and distribution of one quantity over all functions. */
class Quantity {
  readonly #histogram: Histograms;
  readonly #scale: number;
  sum = 0;
  max = 0;
  count = 0;

  constructor(octaves: number, scale = 1) {
    this.#histogram = new Histograms(1, octaves);
    this.#scale = scale;
  }

  add(value: number): void {
    this.sum += value;
    this.count++;
    if (value > this.max) this.max = value;
    this.#histogram.add(0, value * this.#scale);
  }

  summary(unit = 1): Statistics {
    const at = (share: number) =>
      this.count === 0 ? 0 : Math.min(this.max, this.#histogram.quantile(0, share) / this.#scale) / unit;
    return {
      mean: this.count === 0 ? 0 : this.sum / this.count / unit,
      p50: at(0.5),
      p90: at(0.9),
      p99: at(0.99),
      max: this.max / unit,
    };
  }
}

/** What became of all activations, added up as they end: its size grows with the functions, never with the calls. */
export class Tally {
  readonly outcomes = new Float64Array(5);
  /** By `StartKind`. */
  readonly starts = new Float64Array(4);
  readonly slowdown = new Quantity(RATIO_OCTAVES);
  readonly rfet = new Quantity(RATIO_OCTAVES, RFET_SCALE);
  readonly response = new Quantity(DURATION_OCTAVES);
  slow = 0;
  waited = 0;
  waitTotal = 0;
  activations = 0;
  readonly calls: Float64Array;
  readonly #successes: Float64Array;
  readonly #slowdownSum: Float64Array;
  readonly #cold: Float64Array;
  readonly #oom: Float64Array;
  readonly #failed: Float64Array;
  readonly harvested: Float64Array;
  readonly accelerated: Float64Array;
  readonly #slowdowns: Histograms;
  readonly #latencies: Histograms;
  readonly #alone: Histograms;

  constructor(functions: number) {
    this.calls = new Float64Array(functions);
    this.#successes = new Float64Array(functions);
    this.#slowdownSum = new Float64Array(functions);
    this.#cold = new Float64Array(functions);
    this.#oom = new Float64Array(functions);
    this.#failed = new Float64Array(functions);
    this.harvested = new Float64Array(functions);
    this.accelerated = new Float64Array(functions);
    this.#slowdowns = new Histograms(functions, RATIO_OCTAVES);
    this.#latencies = new Histograms(functions, DURATION_OCTAVES);
    this.#alone = new Histograms(functions, DURATION_OCTAVES);
  }

  /** `wait`: us until a container was found for it. */
  ended(fn: number, outcome: number, start: number, wait: number): void {
    this.activations++;
    this.calls[fn] = this.calls[fn]! + 1;
    this.outcomes[outcome] = this.outcomes[outcome]! + 1;
    this.starts[start] = this.starts[start]! + 1;
    if (start === StartKind.cold) this.#cold[fn] = this.#cold[fn]! + 1;
    if (outcome === ClusterOutcome.outOfMemory) this.#oom[fn] = this.#oom[fn]! + 1;
    if (outcome !== ClusterOutcome.success) this.#failed[fn] = this.#failed[fn]! + 1;
    if (wait > 0) {
      this.waited++;
      this.waitTotal += wait;
    }
  }

  /**
   * A successful one, us: response, init + run as the tap sees them, run alone, and how long the run takes without any contention at its
   * true demand and at its user's limits.
   */
  succeeded(fn: number, response: number, latency: number, execution: number, solo: number, user: number): void {
    // Instants are whole microseconds and work is not: nothing is faster than alone.
    const slowdown = response > solo ? response / solo : 1;
    this.slowdown.add(slowdown);
    if (slowdown > SLOW) this.slow++;
    this.rfet.add(execution / user);
    this.response.add(response);
    this.#successes[fn] = this.#successes[fn]! + 1;
    this.#slowdownSum[fn] = this.#slowdownSum[fn]! + slowdown;
    this.#slowdowns.add(fn, slowdown);
    this.#latencies.add(fn, latency);
    this.#alone.add(fn, user);
  }

  functionSummary(fn: number, name: string, sloMs: number | undefined): FunctionSummary {
    const successes = this.#successes[fn]!;
    const known = successes > 0;
    return {
      name,
      calls: this.calls[fn]!,
      meanSlowdown: known ? this.#slowdownSum[fn]! / successes : 0,
      p99Slowdown: known ? this.#slowdowns.quantile(fn, 0.99) : 0,
      p99Ms: known ? this.#latencies.quantile(fn, 0.99) / 1000 : 0,
      sloMs: sloMs ?? (known ? (SLO_FACTOR * this.#alone.quantile(fn, 0.99)) / 1000 : null),
      coldStarts: this.#cold[fn]!,
      oomKills: this.#oom[fn]!,
      failures: this.#failed[fn]!,
      harvested: this.harvested[fn]! / 1000,
      accelerated: this.accelerated[fn]! / 1000,
    };
  }

  /** Has enough successful activations for its figures to mean something. */
  isKnown(fn: number): boolean {
    return this.#successes[fn]! >= ENOUGH;
  }
}
