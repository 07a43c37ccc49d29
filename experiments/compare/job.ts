import {
  type ClusterOptions,
  type RunSummary,
  type Series,
  simulatedOptions,
} from '../../simulator/engine/index.js';
import {
  activationStream,
  type DataIssue,
  dataIssues,
  describeScaling,
  type LoadedWorkload,
  openWorkload,
} from '../../simulator/workload/index.js';
import { type Contender, REDRAWN } from './contenders.js';
import { type Figures, figuresOf } from './metrics.js';
import { type Setting, withDefaultSizes } from './setting.js';
import { Slowdowns } from './slowdowns.js';

/** One run of a comparison; plain data, so that any worker can do it. */
export interface Job {
  readonly index: number;
  readonly setting: Setting;
  readonly contender: Contender;
  readonly seed: number;
}

/** What is kept of a run. */
export interface JobResult {
  readonly index: number;
  readonly figures: Figures;
  readonly activations: number;
  readonly functions: number;
  readonly spanMs: number;
  readonly offeredLoad: number;
  /** How the workload was brought to its load. */
  readonly scaling: string;
  /** What was odd in a recorded trace. */
  readonly data: readonly DataIssue[];
  readonly oracleMeanMs: number;
  readonly mostAheadMicros: number;
  /** Counts of successful activations by slowdown, as `SLOWDOWN_EDGES`. */
  readonly service: Float64Array;
  readonly response: Float64Array;
  readonly series: Series;
  readonly perFunction: FunctionColumns;
}

/** Per function, in the workload's order; slowdowns are of waiting and running. */
export interface FunctionColumns {
  readonly names: readonly string[];
  readonly successes: Float64Array;
  readonly slowdown: Float64Array;
  readonly p99Ms: Float64Array;
  /** NaN: unknown. */
  readonly sloMs: Float64Array;
}

/** The cluster engine; an argument, so that tests can put their own in its place. */
export type Engine = (options: ClusterOptions) => RunSummary;

/** Buckets of the time series kept of each run. */
const SERIES_BUCKETS = 60;

/** Opens each workload once and keeps the last, as jobs come in order of setting and seed. */
export class WorkloadCache {
  #key = '';
  #loaded: LoadedWorkload | undefined;

  open(setting: Setting, seed: number): LoadedWorkload {
    const { workload, part, functions, load, hosts, cores, sizes } = setting;
    const key = JSON.stringify([workload, part, functions, load, hosts, cores, sizes, seed]);
    if (this.#loaded === undefined || key !== this.#key) {
      const loaded = openWorkload(workload, {
        functions,
        seed,
        part,
        partBy: 'time',
        load: { load, cores: hosts * cores },
      });
      this.#loaded = sizes === 'given' ? loaded : resized(loaded);
      this.#key = key;
    }
    return this.#loaded;
  }
}

function resized(loaded: LoadedWorkload): LoadedWorkload {
  return {
    ...loaded,
    workload: withDefaultSizes(loaded.workload),
    phases: loaded.phases.map(withDefaultSizes),
  };
}

/**
 * Runs one job. Arrivals and demand come from the seed alone, placement and policy from streams of
 * their own: a contender that is added changes no other's run.
 *
 * @throws WorkloadError, TraceError
 */
export function runJob(
  { index, setting, contender, seed }: Job,
  workloadCache: WorkloadCache,
  simulate: Engine,
): JobResult {
  const drawn = contender.redrawn === 'everything' ? seed + REDRAWN : seed;
  const loaded = workloadCache.open(setting, drawn);
  const activations = activationStream(loaded, { seed: drawn, activations: setting.activations });
  const slowdowns = new Slowdowns(activations.functions.length);
  const run = simulate({
    activations,
    cluster: {
      hosts: setting.hosts,
      cores: setting.cores,
      memoryMiB: setting.memoryMiB,
      userMemoryMiB: setting.userMemoryMiB,
    },
    mode: setting.mode,
    ...simulatedOptions(setting.settings),
    manager: contender.manager,
    trained: contender.trained?.state,
    safeguard: contender.safeguard,
    quotaPolicy: contender.quotaPolicy,
    weightPolicy: contender.weightPolicy,
    seed: contender.redrawn === undefined ? seed : seed + REDRAWN,
    seriesBuckets: SERIES_BUCKETS,
    recorder: slowdowns,
  });
  return {
    index,
    figures: figuresOf(run, slowdowns),
    activations: run.activations,
    functions: run.functions,
    spanMs: run.spanMs,
    offeredLoad: run.offeredLoad,
    scaling: loaded.scaling === undefined ? '' : describeScaling(loaded.scaling),
    data: loaded.summary === undefined ? [] : dataIssues(loaded.summary),
    oracleMeanMs: slowdowns.oracleMeanMs,
    mostAheadMicros: slowdowns.mostAheadMicros,
    service: slowdowns.service.counts,
    response: slowdowns.response.counts,
    series: run.series,
    perFunction: columnsOf(run, slowdowns),
  };
}

function columnsOf({ perFunction }: RunSummary, slowdowns: Slowdowns): FunctionColumns {
  return {
    names: perFunction.map(({ name }) => name),
    successes: slowdowns.successes,
    slowdown: slowdowns.perFunction,
    p99Ms: Float64Array.from(perFunction, ({ p99Ms }) => p99Ms),
    sloMs: Float64Array.from(perFunction, ({ sloMs }) => sloMs ?? Number.NaN),
  };
}
