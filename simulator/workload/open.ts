import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { suggest } from '../../config/index.js';
import type { ImportSummary } from './anomalies.js';
import { importAzure2019 } from './azure-2019.js';
import { importAzure2021 } from './azure-2021.js';
import type { CallStream } from './call-stream.js';
import { type LoadScaling, type ScaledWorkload, scaleToLoad } from './offered-load.js';
import { loadWorkload, shippedWorkload } from './shipped.js';
import { recogniseFile, recogniseFolder } from './trace-files.js';
import { checkWorkload, takeMinutes, type Workload, WorkloadError } from './workload.js';
import { PhasedStream, WorkloadStream } from './workload-stream.js';

/** What a command line says about a workload beside its name or path. */
export interface WorkloadOptions {
  /** The first so many functions, in the order of the file. */
  readonly functions?: number;
  /** Of arrivals, demand and of the assumptions an importer draws; default: the workload's own. */
  readonly seed?: number;
  /** Minutes of the recording, from 0 on. */
  readonly minutes?: { readonly from: number; readonly count: number };
  /** Days of the traces of 2019, from 1 on. */
  readonly days?: readonly number[];
  /** Offered load on so many cores to bring it to. */
  readonly load?: { readonly load: number; readonly cores: number; readonly by?: LoadScaling };
  /** Every anomaly of a trace is an error. */
  readonly strict?: boolean;
}

/** A workload ready to run, with what is to be printed about it. */
export interface LoadedWorkload {
  readonly workload: Workload;
  /** What is played one after the other: the workload alone, or, for a change scenario, before and after. */
  readonly phases: readonly Workload[];
  /** What an importer kept, merged, clamped and dropped; undefined where nothing was imported. */
  readonly summary?: ImportSummary;
  /** How it was brought to the load asked for; print `describeScaling` of it. */
  readonly scaling?: ScaledWorkload;
}

/** Workloads with a name; `azure-sample:50` is `azure-sample` with 50 functions. */
export const builtinWorkloads: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'azure-ten', description: 'ten functions of the Azure trace of 2019, an hour in six minutes' },
  { name: 'azure-sample', description: '1000 functions of the Azure trace of 2019, an hour' },
];

/** A named workload, or the one at a path. @throws WorkloadError, TraceError */
export function openWorkload(nameOrPath: string, options: WorkloadOptions = {}): LoadedWorkload {
  if (builtinWorkloads.some(({ name }) => name === nameOrPath.split(':')[0]))
    return builtinWorkload(nameOrPath, options);
  if (existsSync(nameOrPath)) return loadWorkloadPath(nameOrPath, options);
  const names = builtinWorkloads.map(({ name }) => name);
  const meant = suggest(nameOrPath, names);
  throw new WorkloadError(nameOrPath, [
    `is neither a file nor a workload${meant === undefined ? '' : `; did you mean ${meant}?`} Names: ${names.join(', ')}`,
  ]);
}

/** @throws WorkloadError where there is no such workload */
export function builtinWorkload(name: string, options: WorkloadOptions = {}): LoadedWorkload {
  const [kind, argument] = name.split(':');
  if (argument !== undefined && !/^[1-9]\d*$/.test(argument)) {
    throw new WorkloadError(name, [`'${argument}' is no number of functions`]);
  }
  const functions = options.functions ?? (argument === undefined ? undefined : Number(argument));
  if (kind === 'azure-ten') return ready(narrowed(shippedWorkload('azure-ten'), { ...options, functions }), options);
  if (kind === 'azure-sample') return loadWorkloadPath(SAMPLE, { ...options, functions });
  throw new WorkloadError(name, ['there is no such workload']);
}

/**
 * The workload in a file or folder: the product's own format (YAML, JSON), or Azure's traces, recognised by their files' names
 * and headers. @throws WorkloadError, TraceError
 */
export function loadWorkloadPath(path: string, options: WorkloadOptions = {}): LoadedWorkload {
  const recognised = statSync(path).isDirectory()
    ? recogniseFolder(path, options.days)
    : recogniseFile(path, options.days);
  if (recognised.kind === 'product') return ready(narrowed(loadWorkload(path), options), options);
  const { functions, minutes, seed, strict } = options;
  const importOptions = { name: recognised.name, functions, minutes, seed, strict };
  const { workload, summary } =
    recognised.kind === '2019'
      ? importAzure2019(recognised.files, importOptions)
      : importAzure2021(recognised.source, importOptions);
  return ready(workload, options, summary);
}

/** The calls of a loaded workload, in order; with `calls`, repeated until there are so many. */
export function callStream(
  { phases }: LoadedWorkload,
  options: { readonly seed?: number; readonly calls?: number } = {},
): CallStream {
  const calls = options.calls === undefined ? undefined : Math.ceil(options.calls / phases.length);
  const streams = phases.map((phase) => new WorkloadStream(phase, { seed: options.seed, calls }));
  return streams.length === 1 ? streams[0]! : new PhasedStream(streams);
}

const SAMPLE = fileURLToPath(new URL('../../../simulator/workload/shipped/azure-sample/', import.meta.url));

function narrowed(workload: Workload, options: WorkloadOptions): Workload {
  const { functions, minutes } = options;
  let narrow = workload;
  if (functions !== undefined) narrow = { ...narrow, functions: narrow.functions.slice(0, functions) };
  if (minutes !== undefined) narrow = takeMinutes(narrow, minutes.from, minutes.count);
  return checkWorkload(narrow, workload.name);
}

function ready(workload: Workload, options: WorkloadOptions, summary?: ImportSummary): LoadedWorkload {
  if (options.load === undefined) return { workload, phases: [workload], summary };
  const scaling = scaleToLoad(workload, { ...options.load, seed: options.seed });
  return { workload: scaling.workload, phases: [scaling.workload], summary, scaling };
}
