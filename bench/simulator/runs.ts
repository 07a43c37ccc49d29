import { type ClusterOptions, simulateCluster } from '../../simulator/engine/index.js';
import { PUBLISHED_EVENTS_PER_SECOND } from '../../simulator/freyr-2021/index.js';
import {
  openWorkload,
  scaleToLoad,
  type Workload,
  WorkloadStream,
} from '../../simulator/workload/index.js';

/** Hosts and cores as in `gleaner simulate`. */
const HOSTS = 30;
const CORES = 8;
const LOAD = 0.7;
const SEED = 1;
/** Functions in the sample. */
const SAMPLE = 1000;

/** What is measured: the cluster with OpenWhisk alone, or with everything Gleaner does in it. */
export type Subject = 'fixed' | 'safeguard';

/** One measurement: the same run again and again in a process of its own. */
export interface RunPlan {
  readonly subject: Subject;
  readonly functions: number;
  readonly activations: number;
  /** Timed runs, after one that is not. */
  readonly rounds: number;
}

export interface RunFigures {
  /** Of each timed run: activations over wall-clock seconds. */
  readonly rates: readonly number[];
  /**
   * CPU seconds of the whole process over wall-clock seconds while it was timed: helper threads of
   * V8 included.
   */
  readonly busy: number;
  /** Highest resident memory of the process, bytes. */
  readonly peakMemory: number;
  /** Of the last run; shows that something happened in it. */
  readonly activations: number;
  readonly trips: number;
  readonly observations: number;
}

/**
 * `fixed`: weight mode, no hooks. `safeguard`: quota mode, the hook's decider on every host with
 * `smallest-in-range`, mid-run crossings and pools; each control step is observed by an agent of
 * manager `greedy`, in the mean field, and its target comes back.
 */
const OPTIONS: Readonly<Record<Subject, Partial<ClusterOptions>>> = {
  fixed: { mode: 'weight', manager: 'fixed' },
  safeguard: { mode: 'quota', manager: 'greedy', quotaPolicy: 'smallest-in-range' },
};

/** The published simulator's rate: it has one event per activation at least. */
export const PUBLISHED_RATE = PUBLISHED_EVENTS_PER_SECOND;

/** The Azure sample with `functions` functions, or copies of them to keep their mix. */
function sampleOf(functions: number): Workload {
  const { workload } = openWorkload(`azure-sample:${Math.min(functions, SAMPLE)}`, { seed: SEED });
  const copies = Math.ceil(functions / SAMPLE);
  const all = Array.from({ length: copies }, (_, copy) =>
    workload.functions.map((fn) => ({ ...fn, name: `${fn.name}${copy === 0 ? '' : `-${copy}`}` })),
  ).flat();
  return scaleToLoad(
    { ...workload, functions: all.slice(0, functions) },
    { load: LOAD, cores: HOSTS * CORES },
  ).workload;
}

/** Runs a plan in this process. */
export function runPlan({ subject, functions, activations, rounds }: RunPlan): RunFigures {
  const loaded = sampleOf(functions);
  const run = (onObservation?: () => void) =>
    simulateCluster({
      ...OPTIONS[subject],
      ...(onObservation === undefined ? {} : { onObservation }),
      activations: new WorkloadStream(loaded, { seed: SEED, activations }),
      cluster: { hosts: HOSTS, cores: CORES },
      seed: SEED,
    });
  let observations = 0;
  let last = run(subject === 'safeguard' ? () => observations++ : undefined);
  const rates: number[] = [];
  const begun = performance.now();
  const cpu = process.cpuUsage();
  for (let round = 0; round < rounds; round++) {
    const from = performance.now();
    last = run();
    rates.push((last.activations * 1000) / (performance.now() - from));
  }
  const used = process.cpuUsage(cpu);
  return {
    rates,
    busy: (used.user + used.system) / 1000 / (performance.now() - begun),
    // KiB.
    peakMemory: process.resourceUsage().maxRSS * 1024,
    activations: last.activations,
    trips: last.harvest.trips,
    observations,
  };
}
