import type { ResourceManager } from '../../agents/index.js';
import type { LearnerState } from '../../agents/ppo/index.js';
import type { Observation } from '../../broker/messages/index.js';
import { defaultConfig } from '../../config/index.js';
import type {
  DecisionSettings,
  ExperienceListener,
} from '../../openwhisk-plugin/decision/index.js';
import { IDLE_LIFE } from '../../rules/index.js';
import type { ActivationStream } from '../workload/index.js';
import type { ActivationRecorder } from './recorder.js';

/** Hardware of the cluster and OpenWhisk's settings; all hosts are alike. */
export interface ClusterShape {
  readonly hosts: number;
  readonly cores: number;
  readonly memoryMiB: number;
  /**
   * OpenWhisk's `container-pool.user-memory` of each host: the limit of admission and the base of
   * CPU shares.
   */
  readonly userMemoryMiB: number;
  /** In use by the system, the engine and the invoker. */
  readonly systemMemoryMiB: number;
  /**
   * Cores that they use on average. Containers share the rest; hooks see all cores, as on a real
   * host.
   */
  readonly systemCores: number;
  /** Idle time until a container is paused: 50 ms in OpenWhisk 1.0.0, 10 s since 2.0.0. */
  readonly pauseGraceMs: number;
  readonly unpauseMs: number;
  /** Time paused until a container is removed. */
  readonly idleMs: number;
  /**
   * Prewarmed containers of each host; a cold start that finds one of its memory size takes only
   * `initMs`.
   */
  readonly prewarm: readonly Prewarm[];
}

interface Prewarm {
  readonly memoryMiB: number;
  readonly count: number;
  /** Time to create one, ms. */
  readonly coldStartMs: number;
}

/** A host that fails for a while: its activations and containers are lost, its queue waits. */
export interface Failure {
  readonly host: number;
  readonly atMs: number;
  /** Absent: it never returns and its queue is lost too. */
  readonly forMs?: number;
}

/**
 * Limits of a function that its user or an operator changes during the run; existing containers get
 * them at once.
 */
export interface LimitChange {
  readonly atMs: number;
  /** Index into the stream's functions. */
  readonly fn: number;
  /** Quota of each of its containers; null: none. */
  readonly cpuMillicores?: number | null;
  /** cgroup-v1 weight of each of its containers. */
  readonly shares?: number;
  /** Hard memory limit of each of its containers; admission still uses the nominal memory. */
  readonly memoryMiB?: number;
}

/**
 * `weight`: shares by memory and no quota, as stock OpenWhisk; `quota`: also each function's
 * `userCpuMillicores`.
 */
export type ClusterMode = 'weight' | 'quota';

/** The agents' settings in a managed run. */
export interface ControlOptions {
  /** Activations after which a function's step on a host closes. */
  readonly stepActivations: number;
  /** Time after which it closes if it has at least one activation. */
  readonly stepMs: number;
  /** From an observation to its target in force. */
  readonly delayMs: number;
  /** A target older than this is ignored. */
  readonly staleMs: number;
  /** Length of a mean-field step. */
  readonly fieldMs: number;
  /** Off: managers see neither the other functions nor a price. */
  readonly meanField: boolean;
  /** Upper bounds of what a manager gives to one container. */
  readonly capMillicores: number;
  readonly capMiB: number;
}

interface Progress {
  readonly activations: number;
  readonly simulatedMs: number;
  /** Share of the arrivals' span, 0..1. */
  readonly share: number;
}

/** Parameters and weights of a policy. */
export interface PolicyMaterial {
  readonly parameters?: unknown;
  readonly weights?: readonly number[];
}

/** The part of a configuration that the simulator uses; plain data. */
export interface SimulatedSettings {
  readonly decision: DecisionSettings;
  readonly targetStaleMs: number;
}

export const simulatedOptions = (
  settings: SimulatedSettings | undefined,
): Pick<ClusterOptions, 'decision' | 'control'> =>
  settings === undefined
    ? {}
    : { decision: settings.decision, control: { staleMs: settings.targetStaleMs } };

export interface ClusterOptions {
  readonly activations: ActivationStream;
  readonly cluster?: Partial<ClusterShape>;
  readonly mode?: ClusterMode;
  /** Name of a resource manager, or one made already; default `fixed`. */
  readonly manager?: string | ResourceManager;
  /**
   * What the named manager (`simppo`, `single-agent`), or else the range policy `faasrm`, has
   * learned; default: as shipped.
   */
  readonly trained?: LearnerState;
  /**
   * The hook's decisions (safeguard, pools, policies) on every host. Default: with any manager but
   * `fixed`, or with a policy named.
   */
  readonly safeguard?: boolean;
  /**
   * Activation policies by name. Defaults: the configuration's, and for quotas `target` with a
   * manager that sets targets.
   */
  readonly quotaPolicy?: string;
  readonly weightPolicy?: string;
  /** Parameters for the range policy; default for `faasrm`: the shipped weights. */
  readonly quotaParameters?: PolicyMaterial;
  /** Parameters for the weight policy; default: its own. */
  readonly weightParameters?: unknown;
  /** Called with each choice and its result. */
  readonly experiences?: ExperienceListener;
  readonly decision?: Partial<DecisionSettings>;
  readonly control?: Partial<ControlOptions>;
  /** For placement and policies; arrivals and demand have the stream's seed. */
  readonly seed?: number;
  readonly failures?: readonly Failure[];
  readonly limitChanges?: readonly LimitChange[];
  /** Buckets of the time series. */
  readonly seriesBuckets?: number;
  /**
   * Activations that arrive before this time count in no figure: the cluster is still filling up.
   */
  readonly warmUpMs?: number;
  /** Called for every activation; for small runs. */
  readonly recorder?: ActivationRecorder;
  /** Every 65,536 activations and at the end. */
  readonly onProgress?: (progress: Progress) => void;
  /** Each observation as it is made, after its manager has decided. */
  readonly onObservation?: (observation: Observation) => void;
}

/** 30 hosts of eight cores; OpenWhisk 2.0.0's default times. */
export const DEFAULT_CLUSTER: ClusterShape = {
  hosts: 30,
  cores: 8,
  memoryMiB: 32_768,
  userMemoryMiB: 24_576,
  systemMemoryMiB: 1024,
  systemCores: 0,
  pauseGraceMs: 10_000,
  unpauseMs: 20,
  idleMs: IDLE_LIFE,
  prewarm: [],
};

/** Step and mean-field lengths and the staleness of targets are the product's defaults. */
export const DEFAULT_CONTROL: ControlOptions = {
  stepActivations: defaultConfig.hook.stepActivations,
  stepMs: 1000 * defaultConfig.hook.stepS,
  delayMs: 20,
  staleMs: defaultConfig.decision.targetStaleMs,
  fieldMs: defaultConfig.agents.intervalMs,
  meanField: true,
  capMillicores: 8000,
  capMiB: 2048,
};
