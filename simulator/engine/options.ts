import type { ResourceManager } from '../../agents/index.js';
import type { Observation } from '../../broker/messages/index.js';
import type {
  DecisionSettings,
  ExperienceListener,
} from '../../openwhisk-plugin/decision/index.js';
import type { ActivationStream } from '../workload/index.js';
import type { ActivationRecorder } from './recorder.js';

/** What the cluster is made of and how OpenWhisk runs it; all hosts are alike. */
export interface ClusterShape {
  readonly hosts: number;
  readonly cores: number;
  readonly memoryMiB: number;
  /**
   * OpenWhisk's `container-pool.user-memory` of each host: what is admitted against, and what CPU
   * shares are a part of.
   */
  readonly userMemoryMiB: number;
  /** In use by the system, the engine and the invoker. */
  readonly systemMemoryMiB: number;
  /**
   * Cores that the same keep busy, on average. Containers share the rest; hooks reckon with all
   * cores, as real ones do.
   */
  readonly systemCores: number;
  /**
   * Idle time until a container is paused: 50 ms in OpenWhisk 1.0.0, 10 s from 2.0.0 on
   * (field-notes C2).
   */
  readonly pauseGraceMs: number;
  readonly unpauseMs: number;
  /** Idle time until a container is removed. */
  readonly idleMs: number;
  /**
   * Containers of a runtime kept ready on each host; a cold start that finds one of its memory
   * takes `initMs` alone.
   */
  readonly prewarm: readonly Prewarm[];
}

interface Prewarm {
  readonly memoryMiB: number;
  readonly count: number;
  /** Time to make one, ms. */
  readonly coldStartMs: number;
}

/**
 * A host that is gone for a while: what ran there is lost, what waited there waits on, its
 * containers are gone.
 */
export interface Failure {
  readonly host: number;
  readonly atMs: number;
  /** Absent: it never returns, and what waited there is lost too. */
  readonly forMs?: number;
}

/**
 * Limits of a function changed by its user or an operator while the cluster runs; containers alive
 * take them over at once.
 */
export interface LimitChange {
  readonly atMs: number;
  /** Index into the stream's functions. */
  readonly fn: number;
  /** Quota of each of its containers; null: none. */
  readonly cpuMillicores?: number | null;
  /** cgroup-v1 weight of each of its containers. */
  readonly shares?: number;
  /** Hard memory limit of each of its containers; what is admitted stays the nominal memory. */
  readonly memoryMiB?: number;
}

/**
 * `weight`: shares by memory and no quota, as stock OpenWhisk; `quota`: each function's
 * `userCpuMillicores` besides.
 */
export type ClusterMode = 'weight' | 'quota';

/** Agents' side of a managed run. */
export interface ControlOptions {
  /** A function's step on a host closes after so many activations ... */
  readonly stepActivations: number;
  /** ... or after this time with at least one (design §4). */
  readonly stepMs: number;
  /** From an observation to its target in force. */
  readonly delayMs: number;
  /** A target older than this is no target. */
  readonly staleMs: number;
  /** Length of a mean-field step. */
  readonly fieldMs: number;
  /** Off: managers see no others and no price. */
  readonly meanField: boolean;
  /** Most that one container may be given by a manager. */
  readonly capMillicores: number;
  readonly capMiB: number;
}

interface Progress {
  readonly activations: number;
  readonly simulatedMs: number;
  /** Of the arrivals' span, 0..1. */
  readonly share: number;
}

/** What a policy is made of besides its name. */
export interface PolicyMaterial {
  readonly parameters?: unknown;
  readonly weights?: readonly number[];
}

/** The part of a configuration that the model runs; plain data. */
export interface SimulatedSettings {
  readonly decision: DecisionSettings;
  readonly targetStaleMs?: number;
}

export const simulatedOptions = (
  settings: SimulatedSettings | undefined,
): Pick<ClusterOptions, 'decision' | 'control'> =>
  settings === undefined
    ? {}
    : {
        decision: settings.decision,
        ...(settings.targetStaleMs === undefined
          ? {}
          : { control: { staleMs: settings.targetStaleMs } }),
      };

export interface ClusterOptions {
  readonly calls: ActivationStream;
  readonly cluster?: Partial<ClusterShape>;
  readonly mode?: ClusterMode;
  /** Name of a resource manager, or one made already; default `fixed`. */
  readonly manager?: string | ResourceManager;
  /**
   * The hook's decisions (safeguard, pools, policies) on every host. Default: with any manager but
   * `fixed`, or with a policy named.
   */
  readonly safeguard?: boolean;
  /**
   * Activation policies by name; defaults `target` with a manager that wishes something, else
   * `smallest-in-range`; `short-first`.
   */
  readonly quotaPolicy?: string;
  readonly weightPolicy?: string;
  /**
   * As key-value would bring them to the range policy; default for `faasrm`: the weights that come
   * with the product.
   */
  readonly quotaParameters?: PolicyMaterial;
  /** Told of choices and what came of them. */
  readonly experiences?: ExperienceListener;
  readonly decision?: Partial<DecisionSettings>;
  readonly control?: Partial<ControlOptions>;
  /** Of placement and policy; arrivals and demand are the stream's. */
  readonly seed?: number;
  readonly failures?: readonly Failure[];
  readonly limitChanges?: readonly LimitChange[];
  /** Buckets of the time series. */
  readonly seriesBuckets?: number;
  /**
   * Activations that arrive before this time count in no figure: the cluster is still filling up.
   */
  readonly warmUpMs?: number;
  /** Keeps every call; for small runs. */
  readonly recorder?: ActivationRecorder;
  /** Every 65,536 activations and at the end. */
  readonly onProgress?: (progress: Progress) => void;
  /** Each observation as it is made, after its manager has decided. */
  readonly onObservation?: (observation: Observation) => void;
}

/** 30 hosts of eight cores; OpenWhisk 2.0.0's times (field-notes C2). */
export const DEFAULT_CLUSTER: ClusterShape = {
  hosts: 30,
  cores: 8,
  memoryMiB: 32_768,
  userMemoryMiB: 24_576,
  systemMemoryMiB: 1024,
  systemCores: 0,
  pauseGraceMs: 10_000,
  unpauseMs: 20,
  idleMs: 600_000,
  prewarm: [],
};

export const DEFAULT_CONTROL: ControlOptions = {
  stepActivations: 20,
  stepMs: 10_000,
  delayMs: 20,
  staleMs: 60_000,
  fieldMs: 10_000,
  meanField: true,
  capMillicores: 8000,
  capMiB: 2048,
};
