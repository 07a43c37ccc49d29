import { SeededRandom } from '../../config/index.js';
import { SIMPPO_SIZES } from './agent/settings.js';
import type { EpisodeArrivals } from './episode.js';
import { FunctionQueue, type ResponseSink } from './function-queue.js';
import { ResponseWindow } from './response-window.js';
import type { ScaledFunction } from './scaled-function.js';

/**
 * How containers share the cores. `reserved`: limits are reserved; requests beyond the capacity are
 * projected onto it, all by one factor, as in the published environment [AWARE artifact], and what
 * is granted is what use is a share of. `busy`: only running containers compete, as under the
 * kernel's scheduler. `alone`: each function has all cores.
 */
export type Contention = 'reserved' | 'busy' | 'alone';

export interface ScalingOptions {
  readonly functions: readonly ScaledFunction[];
  readonly cores: number;
  readonly contention: Contention;
  /** Objectives by function, ms. */
  readonly slos: readonly number[];
  readonly stepMs: number;
  /** Steps of an episode. */
  readonly steps: number;
}

/** Interval at which rates are recomputed under `busy` contention, ms. */
const SLICE = 250;

/** What one function holds: limits per container, and how many. */
export interface Allocation {
  /** Millicores. */
  cpu: number;
  /** Bytes. */
  memory: number;
  containers: number;
}

/** One function in the cluster, as its last step left it. */
export interface ScaledState {
  readonly index: number;
  readonly fn: ScaledFunction;
  readonly queue: FunctionQueue;
  readonly held: Allocation;
  readonly responses: ResponseWindow;
  readonly slo: number;
  /** Cores x ms that its containers were granted in the step. */
  granted: number;
}

/**
 * Functions that share cores, each with containers of one size; their limits and numbers are set
 * from outside, step by step. No function has a user's limit to fall back on. Memory is not scarce:
 * a limit kills, but no container is refused.
 */
export class ScalingCluster {
  readonly options: ScalingOptions;
  readonly states: readonly ScaledState[];
  #now = 0;
  readonly #factors: Float64Array;

  constructor(options: ScalingOptions) {
    this.options = options;
    this.#factors = new Float64Array(options.functions.length).fill(1);
    this.states = options.functions.map((fn, index) => {
      const queue = new FunctionQueue(fn);
      queue.slo = options.slos[index]!;
      return {
        index,
        fn,
        queue,
        held: { ...SIMPPO_SIZES.first, containers: 1 },
        responses: new ResponseWindow(),
        slo: queue.slo,
        granted: 0,
      };
    });
  }

  get now(): number {
    return this.#now;
  }
  get finished(): boolean {
    return this.#now >= this.options.steps * this.options.stepMs;
  }
  /** Millicores. */
  get capacity(): number {
    return this.options.cores * 1000;
  }
  get allocated(): number {
    let sum = 0;
    for (const { held } of this.states) sum += held.cpu * held.containers;
    return sum;
  }
  /** Requested over available. */
  get occupancy(): number {
    return this.allocated / this.capacity;
  }

  reset(
    episode: EpisodeArrivals,
    start: (state: ScaledState, meanRate: number) => Allocation,
  ): void {
    const random = new SeededRandom(episode.seed).fork('calls');
    this.#now = 0;
    for (const state of this.states) {
      Object.assign(state.held, start(state, episode.means[state.index]!));
      state.responses.clear();
      state.queue.reset(
        episode.rates[state.index]!,
        random.fork(state.fn.name),
        state.held.containers,
      );
      state.granted = 0;
    }
  }

  /** What a function holds from now on. */
  hold(index: number, { cpu, memory, containers }: Allocation): void {
    const { held, fn, queue } = this.states[index]!;
    held.cpu = cpu;
    held.memory = memory;
    held.containers = containers;
    queue.scaleTo(containers, this.#now, startMs(fn, cpu));
  }

  /** Receives each response of a function; null: stops. */
  listen(index: number, sink: ResponseSink | null): void {
    this.states[index]!.queue.sink = sink;
  }

  /** Plays one step. */
  advance(): void {
    const { stepMs, contention } = this.options;
    const end = this.#now + stepMs;
    for (const { queue } of this.states) queue.window.clear();
    const slice = contention === 'busy' ? SLICE : stepMs;
    while (this.#now < end) {
      const to = Math.min(end, this.#now + slice);
      this.#squeeze();
      for (const { queue, fn, held, index } of this.states) {
        const limit = held.cpu / 1000;
        // Reserved: of what was requested; busy: of what it would keep busy.
        const rate =
          contention === 'busy'
            ? Math.min(limit, fn.parallelism) * this.#factors[index]!
            : Math.min(limit * this.#factors[index]!, fn.parallelism);
        queue.advance(this.#now, to, rate, held.memory, startMs(fn, held.cpu));
      }
      this.#now = to;
    }
    for (const state of this.states) {
      const share = contention === 'busy' ? 1 : this.#factors[state.index]!;
      state.granted = share * (state.held.cpu / 1000) * state.held.containers * stepMs;
      state.responses.add(state.queue.window);
    }
  }

  /** By how much each function's cores fall short. */
  #squeeze(): void {
    const { contention, cores } = this.options;
    if (contention === 'busy') shareOut(this.states, cores, this.#factors);
    else if (contention === 'reserved') this.#factors.fill(Math.min(1, 1 / this.occupancy));
    else
      for (const { held, index } of this.states)
        this.#factors[index] = Math.min(1, (1000 * cores) / (held.cpu * held.containers));
  }
}

/** A container's way from the order to its first activation, ms: `/init` at the limit's rate. */
const startMs = (fn: ScaledFunction, cpu: number): number =>
  fn.coldStartMs + fn.initMs / Math.min(1, cpu / 1000);

/**
 * Max-min by weight among containers that run now, weights their limits: who wants less than its
 * part leaves the rest to others.
 */
function shareOut(states: readonly ScaledState[], cores: number, factors: Float64Array): void {
  let left = cores;
  let weights = 0;
  for (const { queue, held, index } of states) {
    // Those who wait will run in this slice, as far as there are containers. Who runs nothing will
    // find what it needs when an activation comes.
    const count = running(queue, held);
    factors[index] = count === 0 ? 1 : 0;
    weights += (count * held.cpu) / 1000;
  }
  let satisfied = true;
  while (satisfied && weights > 1e-12) {
    satisfied = false;
    const each = left / weights;
    for (const { queue, held, fn, index } of states) {
      if (factors[index]! > 0) continue;
      const count = running(queue, held);
      const weight = held.cpu / 1000;
      const most = Math.min(weight, fn.parallelism);
      if (most > each * weight) continue;
      factors[index] = 1;
      left -= count * most;
      weights -= count * weight;
      satisfied = true;
    }
  }
  const each = weights > 1e-12 ? Math.max(0, left) / weights : 0;
  for (const { held, fn, index } of states) {
    if (factors[index]! > 0) continue;
    const weight = held.cpu / 1000;
    factors[index] = Math.max(1e-3, (each * weight) / Math.min(weight, fn.parallelism));
  }
}

const running = (queue: FunctionQueue, { containers }: Allocation): number =>
  Math.min(containers, queue.serving + queue.waiting);

/** The published initial over-provisioning, generalized: 1.5 x the busy containers, plus two. */
export function publishedStart(fn: ScaledFunction, perSecond: number): Allocation {
  const { first, most } = SIMPPO_SIZES;
  const activation = fn.meanCpu / Math.min(first.cpu / 1000, fn.parallelism) + fn.meanIo;
  const busy = (perSecond * activation) / 1000;
  return { ...first, containers: Math.min(most.containers, Math.ceil(1.5 * busy) + 2) };
}
