import type { SeededRandom } from '../../config/index.js';
import type { ImportSummary } from './anomalies.js';
import { type DemandClass, demandClass } from './demand-classes.js';
import { scaled } from './distribution.js';
import { type Arrivals, checkWorkload, type Workload, type WorkloadInput } from './workload.js';

/** Options of all importers. */
export interface ImportOptions {
  readonly name: string;
  readonly seed?: number;
  /**
   * The first functions in the order of the file that have activations and are complete; how many.
   */
  readonly functions?: number;
  /** Every anomaly is an error. */
  readonly strict?: boolean;
}

/** Longer recorded durations are clamped: OpenWhisk's longest time limit. */
export const MAX_DURATION_MS = 300_000;

/** Probability and value, rising. */
export type Points = [number, number][];

/** What a trace says of a function. */
export interface RecordedFunction {
  /** The function's key in the trace: what its class is drawn by. */
  readonly key: string;
  /** Last part of the action's name. */
  readonly name: string;
  readonly trigger: string;
  readonly arrivals: Arrivals;
  /** Alone at its user's CPU, ms. */
  readonly durationMs: Points;
  /** Working set, MiB; the first point is the lowest recorded. */
  readonly memoryMiB: Points;
}

/**
 * Users pick round limits: the smallest of these that is not below the highest recorded working
 * set.
 */
const MEMORY_SIZES = [128, 256, 512, 1024, 2048];

/** Adds what the trace does not say, by the function's demand class (demand-classes.ts). */
export function workloadFunction(
  recorded: RecordedFunction,
  root: SeededRandom,
): WorkloadInput['functions'][number] {
  const demand = demandClass(recorded.name, recorded.trigger, root.fork(recorded.key));
  const cores = Math.min(demand.parallelism, demand.userCpuMillicores / 1000);
  const longest = recorded.durationMs.at(-1)![1];
  const highest = recorded.memoryMiB.at(-1)![1];
  return {
    name: `/guest/${recorded.name}`,
    kind: demand.kind,
    userCpuMillicores: demand.userCpuMillicores,
    memoryMiB: MEMORY_SIZES.find((size) => size >= highest) ?? Math.ceil(highest),
    timeoutMs: longest > 60_000 ? MAX_DURATION_MS : 60_000,
    profile: {
      parallelism: demand.parallelism,
      cpuMs: scaled({ quantiles: recorded.durationMs }, demand.busy * cores),
      ioMs: demand.busy < 1 ? scaled({ quantiles: recorded.durationMs }, 1 - demand.busy) : 0,
      memory: memoryOf(recorded.memoryMiB, demand),
      initMs: demand.initMs,
    },
    arrivals: recorded.arrivals,
  };
}

/**
 * The workload of all functions that an importer has kept. `assumed`: what the trace does not say.
 * @throws WorkloadError
 */
export function importedWorkload(
  functions: WorkloadInput['functions'],
  { kept, activations, recordedSeconds }: ImportSummary,
  { assumed, source }: { readonly assumed: string; readonly source: string },
  options: ImportOptions,
): Workload {
  return checkWorkload({
    version: 1,
    name: options.name,
    description:
      `${kept} functions, ${activations} activations, ${Math.round(recordedSeconds)} s of work ` +
      `as recorded; ${assumed} (docs/workloads.md)`,
    source,
    seed: options.seed ?? 1,
    draws: 'stratified',
    functions,
  });
}

function memoryOf(memoryMiB: Points, demand: DemandClass) {
  return {
    // The lowest percentile includes the activation; the runtime alone is taken for four fifths of
    // it.
    baseMiB: Math.max(1, Math.round(memoryMiB[0]![1] * 0.8)),
    peakMiB: { quantiles: memoryMiB },
    growth: 0.5,
    retained: demand.retained,
  };
}

/** Names for actions: a hash is cut to its first 12 digits, and what comes again gets a number. */
export class ActionNames {
  readonly #used = new Set<string>();

  static canBe(text: string): boolean {
    return /^[^/\s]+$/.test(text);
  }

  take(text: string): string {
    const plain = /^[0-9a-f]{32,}$/i.test(text) ? text.slice(0, 12) : text;
    let name = plain;
    // The same hash in two applications is two functions.
    for (let number = 2; this.#used.has(name); number++) name = `${plain}_${number}`;
    this.#used.add(name);
    return name;
  }
}
