import {
  ActivationLog,
  type ClusterOptions,
  type RunSummary,
  type SimulatedActivation,
  simulateCluster,
} from '../../../simulator/engine/index.js';
import {
  checkWorkload,
  planWorkload,
  type StreamedFunction,
  WorkloadStream,
} from '../../../simulator/workload/index.js';
import { PlanStream } from '../../../simulator/workload/plan.js';
import type { WorkloadInput } from '../../../simulator/workload/workload.js';

type Input = WorkloadInput['functions'][number];

/**
 * A function that computes `cpuMs` on one core, with nothing else to it: no cold start, no init,
 * little memory.
 */
export function fn(
  name: string,
  arrivals: Input['arrivals'],
  changes: Partial<Omit<Input, 'profile'>> & { profile?: Partial<Input['profile']> } = {},
): Input {
  const { profile, ...rest } = changes;
  return {
    name: `/guest/${name}`,
    memoryMiB: 128,
    timeoutMs: 3_600_000,
    arrivals,
    ...rest,
    profile: {
      parallelism: 1,
      cpuMs: 100,
      initMs: 0,
      coldStartMs: 0,
      memory: { baseMiB: 30, peakMiB: 30 },
      ...profile,
    },
  };
}

export const at = (...atMs: number[]): Input['arrivals'] => ({ atMs });

/** Settings of a function that the workload format lacks. */
export type Extras = Partial<Pick<StreamedFunction, 'concurrency' | 'maxContainers' | 'sloMs'>>;

export interface Scene extends Omit<Partial<ClusterOptions>, 'activations' | 'recorder'> {
  readonly functions: readonly Input[];
  readonly extras?: Readonly<Record<number, Extras>>;
  /** Number of activations of a stream; absent: all of the plan. */
  readonly stream?: number;
}

export function streamOf(scene: Scene): ClusterOptions['activations'] {
  const { userMemoryMiB = 4096 } = scene.cluster ?? {};
  const workload = checkWorkload({
    version: 1,
    name: 'scene',
    seed: scene.seed ?? 1,
    host: { cores: 1, memoryMiB: 1_000_000, userMemoryMiB },
    functions: [...scene.functions],
  });
  const activations =
    scene.stream === undefined
      ? new PlanStream(planWorkload(workload))
      : new WorkloadStream(workload, { activations: scene.stream, seed: scene.seed ?? 1 });
  return {
    functions: activations.functions.map((called, index) => ({
      ...called,
      ...scene.extras?.[index],
    })),
    spanMicros: activations.spanMicros,
    expectedActivations: activations.expectedActivations,
    fill: (block) => activations.fill(block),
  };
}

export function optionsOf({
  functions: _functions,
  extras: _extras,
  stream: _stream,
  ...options
}: Scene) {
  return {
    ...options,
    cluster: { hosts: 1, cores: 1, userMemoryMiB: 4096, memoryMiB: 1_000_000, ...options.cluster },
  };
}

export function play(scene: Scene): {
  summary: RunSummary;
  activations: readonly SimulatedActivation[];
} {
  const log = new ActivationLog();
  const summary = simulateCluster({
    ...optionsOf(scene),
    activations: streamOf(scene),
    recorder: log,
  });
  return { summary, activations: [...log.activations].sort((a, b) => a.activation - b.activation) };
}

/** Ends of activations in their order, ms. */
export const endsMs = (activations: readonly SimulatedActivation[]): number[] =>
  activations.map((activation) => activation.endedAt / 1000);
