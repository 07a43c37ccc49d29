import { existsSync, statSync } from 'node:fs';
import type { ActivationStream } from './activation-stream.js';
import type { ImportSummary } from './anomalies.js';
import { importAzure2019 } from './azure-2019.js';
import { importAzure2021 } from './azure-2021.js';
import { findBuiltin, hostedBuiltin, isBuiltin, meant } from './builtin.js';
import { type ScaledWorkload, scaleToLoad } from './offered-load.js';
import { type Part, shippedSplit, takePart } from './splits.js';
import { recognizeFile, recognizeFolder } from './trace-files.js';
import { checkWorkload, loadWorkload, type Workload, WorkloadError } from './workload.js';
import { PhasedStream, WorkloadStream } from './workload-stream.js';

/** Options of a workload besides its name or path. */
export interface WorkloadOptions {
  /** The first functions in the order of the file; how many. */
  readonly functions?: number;
  /** Seed of the assumptions that an importer draws; default: the workload's own. */
  readonly seed?: number;
  /**
   * A part of a named workload, by functions (default) or by time, as shipped/splits.json fixes it.
   */
  readonly part?: Part;
  readonly partBy?: 'function' | 'time';
  /** Offered load and the cores to scale it to. */
  readonly load?: { readonly load: number; readonly cores: number };
  /** Every anomaly of a trace is an error. */
  readonly strict?: boolean;
}

/** A workload ready to run, with what to print about it. */
export interface LoadedWorkload {
  readonly workload: Workload;
  /** What is played in sequence: the workload alone, or for a change scenario before and after. */
  readonly phases: readonly Workload[];
  /** What an importer kept, merged, clamped and dropped; undefined if nothing was imported. */
  readonly summary?: ImportSummary;
  /** How it was scaled; print `describeScaling` of it. */
  readonly scaling?: ScaledWorkload;
}

/** A named workload, or the one at a path. @throws WorkloadError, TraceError */
export function openWorkload(nameOrPath: string, options: WorkloadOptions = {}): LoadedWorkload {
  if (isBuiltin(nameOrPath)) return builtinWorkload(nameOrPath, options);
  if (existsSync(nameOrPath)) return loadWorkloadPath(nameOrPath, options);
  throw new WorkloadError(nameOrPath, [`is neither a file nor a workload${meant(nameOrPath)}`]);
}

/** A workload with a name (`builtinWorkloads`). @throws WorkloadError if there is no such one */
export function builtinWorkload(name: string, options: WorkloadOptions = {}): LoadedWorkload {
  const { part, partBy, seed } = options;
  const { base, functions, workload, phases, summary } = findBuiltin(name, {
    seed,
    functions: options.functions,
    whole: part !== undefined,
  });
  const taken =
    part === undefined ? workload : takePart(workload, shippedSplit(base), part, partBy);
  const first = options.functions ?? functions;
  return ready(
    (phases ?? [taken]).map((phase) => narrowed(phase, first)),
    options,
    summary,
  );
}

/**
 * The workload in a file or folder: the product's own format (YAML, JSON), or Azure's traces,
 * recognized by their files' names and headers. @throws WorkloadError, TraceError
 */
export function loadWorkloadPath(path: string, options: WorkloadOptions = {}): LoadedWorkload {
  if (options.part !== undefined)
    throw new WorkloadError(path, ['only named workloads have parts']);
  const recognized = statSync(path).isDirectory() ? recognizeFolder(path) : recognizeFile(path);
  if (recognized.kind === 'product')
    return ready([narrowed(loadWorkload(path), options.functions)], options);
  const { functions, seed, strict } = options;
  const importOptions = { name: recognized.name, functions, seed, strict };
  const { workload, summary } =
    recognized.kind === '2019'
      ? importAzure2019(recognized.files, importOptions)
      : importAzure2021(recognized.source, importOptions);
  return ready([workload], options, summary);
}

/**
 * The activations of a loaded workload, in order; with `activations`, that many, the workload
 * repeated (its phases share them).
 */
export function activationStream(
  { phases }: LoadedWorkload,
  options: { readonly seed?: number; readonly activations?: number } = {},
): ActivationStream {
  const activations =
    options.activations === undefined ? undefined : Math.ceil(options.activations / phases.length);
  const streams = phases.map(
    (phase) => new WorkloadStream(phase, { seed: options.seed, activations }),
  );
  return streams.length === 1 ? streams[0]! : new PhasedStream(streams);
}

function narrowed(workload: Workload, functions: number | undefined): Workload {
  if (functions === undefined) return workload;
  const first = workload.functions.slice(0, functions);
  return checkWorkload({ ...workload, functions: first }, workload.name);
}

/**
 * Brings the phases to the load asked for: all by what the first one needs, so that the change
 * stays one.
 */
function ready(
  phases: readonly Workload[],
  options: WorkloadOptions,
  summary?: ImportSummary,
): LoadedWorkload {
  if (options.load === undefined) return { workload: phases[0]!, phases, summary };
  const scaling = scaleToLoad(phases[0]!, options.load);
  const time = scaling.workload.compression.time;
  const later = phases
    .slice(1)
    .map((phase) =>
      checkWorkload({ ...phase, compression: { ...phase.compression, time } }, phase.name),
    );
  return { workload: scaling.workload, phases: [scaling.workload, ...later], summary, scaling };
}

/** Invoker hosts of a simulated cluster, all alike. */
export interface HostShape {
  readonly hosts: number;
  readonly cores: number;
  readonly memoryMiB: number;
  readonly userMemoryMiB: number;
}

/**
 * The hosts that the user asks for, else those that the workload names (a recorded trace names
 * none), else `defaults`. @throws WorkloadError
 */
export function resolveHosts(
  nameOrPath: string,
  overrides: Partial<HostShape>,
  defaults: HostShape,
): HostShape {
  const base = declaredHosts(nameOrPath) ?? defaults;
  return {
    hosts: overrides.hosts ?? base.hosts,
    cores: overrides.cores ?? base.cores,
    memoryMiB: overrides.memoryMiB ?? base.memoryMiB,
    userMemoryMiB: overrides.userMemoryMiB ?? base.userMemoryMiB,
  };
}

function declaredHosts(nameOrPath: string): HostShape | undefined {
  const workload = isBuiltin(nameOrPath)
    ? hostedBuiltin(nameOrPath)
    : existsSync(nameOrPath) &&
        !statSync(nameOrPath).isDirectory() &&
        recognizeFile(nameOrPath).kind === 'product'
      ? loadWorkload(nameOrPath)
      : undefined;
  if (workload === undefined) return undefined;
  const { count, cores, memoryMiB, userMemoryMiB } = workload.host;
  return { hosts: count, cores, memoryMiB, userMemoryMiB };
}
