import { SeededRandom } from '../../config/index.js';
import type { ActivationBlock, ActivationStream, StreamedFunction } from './activation-stream.js';
import { type ArrivalSource, arrivalSource, expectedActivations, roundSpanMs } from './arrivals.js';
import { DemandTable } from './demand-table.js';
import type { Workload } from './workload.js';

/** Length of a stream: rounds of the workload (default 1), or activations, round after round. */
export interface StreamOptions {
  readonly seed?: number;
  readonly rounds?: number;
  readonly activations?: number;
}

/**
 * A workload's activations, made on request, in order of arrival, ties in the order of the
 * functions. Random streams are forked by function and purpose. Memory and cost per activation do
 * not depend on their number.
 *
 * The next activation of each function is in a heap with four children a node, kept as columns;
 * taking one replaces it with that function's next. Each round has its own draws.
 */
export class WorkloadStream implements ActivationStream {
  readonly functions: readonly StreamedFunction[];
  readonly spanMicros: number;
  readonly expectedActivations: number;
  declare private readonly microsPerMs: number;
  declare private readonly sources: readonly ArrivalSource[];
  declare private readonly demand: DemandTable;
  /** Heap: arrival, us, and function of each entry. */
  declare private readonly at: Float64Array;
  declare private readonly fn: Uint32Array;
  declare private left: number;

  constructor(workload: Workload, options: StreamOptions = {}) {
    const { functions, compression } = workload;
    const spanMs = roundSpanMs(functions);
    const perRound = functions.reduce((sum, fn) => sum + expectedActivations(fn.arrivals), 0);
    const activations = options.activations ?? Number.POSITIVE_INFINITY;
    const rounds =
      options.rounds ?? (options.activations === undefined ? 1 : Number.POSITIVE_INFINITY);
    const expected = perRound === 0 ? 0 : Math.min(activations, perRound * rounds);
    this.functions = functions;
    this.microsPerMs = 1000 / compression.time;
    this.left = perRound === 0 ? 0 : activations;
    this.expectedActivations = Math.round(expected);
    this.spanMicros = Math.ceil(
      spanMs * this.microsPerMs * (perRound === 0 ? 1 : expected / perRound),
    );
    const root = new SeededRandom(options.seed ?? workload.seed);
    const randoms = functions.map((fn) => root.fork(fn.name));
    this.sources = functions.map((fn, i) =>
      arrivalSource(fn.arrivals, spanMs, rounds, randoms[i]!.fork('arrivals')),
    );
    this.demand = new DemandTable(workload, randoms);
    this.at = Float64Array.from(this.sources, (source) => this.#next(source));
    this.fn = Uint32Array.from(functions, (_, index) => index);
    for (let i = (functions.length - 2) >> 2; i >= 0; i--) this.#sink(i, this.at[i]!, this.fn[i]!);
  }

  fill(block: ActivationBlock): number {
    const most = Math.min(block.capacity, this.left);
    let count = 0;
    while (count < most) {
      const at = this.at[0]!;
      if (at === Number.POSITIVE_INFINITY) break;
      const fn = this.fn[0]!;
      block.arrival[count] = at;
      block.fn[count] = fn;
      count++;
      this.#sink(0, this.#next(this.sources[fn]!), fn);
    }
    this.left -= count;
    this.demand.fill(block, count);
    return count;
  }

  #next(source: ArrivalSource): number {
    return Math.round(source.next() * this.microsPerMs);
  }

  /** Puts an entry into the place at `hole` or, where a child is earlier, below it. */
  #sink(hole: number, at: number, fn: number): void {
    const ats = this.at;
    const fns = this.fn;
    const length = ats.length;
    let place = hole;
    for (;;) {
      let child = 4 * place + 1;
      if (child >= length) break;
      const end = Math.min(child + 4, length);
      let least = ats[child]!;
      for (let i = child + 1; i < end; i++) {
        const other = ats[i]!;
        if (other < least || (other === least && fns[i]! < fns[child]!)) {
          child = i;
          least = other;
        }
      }
      if (at < least || (at === least && fn < fns[child]!)) break;
      ats[place] = least;
      fns[place] = fns[child]!;
      place = child;
    }
    ats[place] = at;
    fns[place] = fn;
  }
}

/**
 * Streams played in sequence: the same functions by name, changed demand (a change scenario). The
 * functions are the first stream's: only demand changes, not what a container is created with.
 */
export class PhasedStream implements ActivationStream {
  readonly functions: readonly StreamedFunction[];
  readonly spanMicros: number;
  readonly expectedActivations: number;
  declare private readonly phases: readonly ActivationStream[];
  #phase = 0;
  #start = 0;
  #last = 0;

  constructor(phases: readonly ActivationStream[]) {
    const first = phases[0];
    if (first === undefined) throw new RangeError('there is no phase');
    for (const { functions } of phases) {
      if (
        functions.length !== first.functions.length ||
        functions.some((fn, i) => fn.name !== first.functions[i]!.name)
      )
        throw new RangeError('the phases have different functions');
    }
    this.functions = first.functions;
    this.spanMicros = phases.reduce((sum, phase) => sum + phase.spanMicros, 0);
    this.expectedActivations = phases.reduce((sum, phase) => sum + phase.expectedActivations, 0);
    this.phases = phases;
  }

  fill(block: ActivationBlock): number {
    while (this.#phase < this.phases.length) {
      const phase = this.phases[this.#phase]!;
      const count = phase.fill(block);
      for (let i = 0; i < count; i++) block.arrival[i]! += this.#start;
      if (count > 0) {
        this.#last = block.arrival[count - 1]!;
        return count;
      }
      // A stream with a number of activations may exceed its expected span a little.
      this.#start = Math.max(this.#start + phase.spanMicros, this.#last);
      this.#phase++;
    }
    return 0;
  }
}
