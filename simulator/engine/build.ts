import { faasrmParameters, faasrmWeights, shippedFaasrm } from '../../agents/faasrm/index.js';
import type { ResourceManager } from '../../agents/index.js';
import { createManager } from '../../agents/managers/index.js';
import type { LearnerState } from '../../agents/ppo/index.js';
import {
  type Bytes,
  defaultConfig,
  MIB,
  type Millicores,
  type Millis,
  SeededRandom,
} from '../../config/index.js';
import {
  createPolicy,
  type DecisionSettings,
  defaultDecisionSettings,
  type Policies,
} from '../../openwhisk-plugin/decision/index.js';
import { Cluster } from './cluster.js';
import { ControlPlane } from './control-plane.js';
import { HookLimitController } from './hook-limit-controller.js';
import {
  type ClusterOptions,
  type ControlOptions,
  DEFAULT_CLUSTER,
  DEFAULT_CONTROL,
  type PolicyMaterial,
} from './options.js';

const SERIES_BUCKETS = 200;
/** Policies without targets, for weights, and with a manager that sets targets. */
const { quota: DEFAULT_RANGE, weight: DEFAULT_WEIGHT } = defaultConfig.decision.policy;
const BY_TARGET = 'target';

/** A cluster before its first event, with the hooks of its hosts if it has any. */
export interface BuiltCluster {
  readonly cluster: Cluster;
  /** Null: OpenWhisk alone. */
  readonly limitController: HookLimitController | null;
  readonly control: ControlPlane | null;
  readonly names: {
    readonly manager: string;
    readonly quotaPolicy: string;
    readonly weightPolicy: string;
  };
}

/** @throws UnknownManagerError, UnknownPolicyError */
export function buildCluster(options: ClusterOptions): BuiltCluster {
  const { onProgress, seed = 1, manager = 'fixed', trained, onObservation } = options;
  const settings = { ...defaultDecisionSettings, ...options.decision };
  const cluster = new Cluster({
    activations: options.activations,
    shape: { ...DEFAULT_CLUSTER, ...options.cluster },
    mode: options.mode ?? 'weight',
    seed,
    seriesBuckets: options.seriesBuckets ?? SERIES_BUCKETS,
    warmUpMicros: (options.warmUpMs ?? 0) * 1000,
    failures: options.failures ?? [],
    limitChanges: options.limitChanges ?? [],
    recorder: options.recorder ?? null,
    sloFactor: settings.sloFactor,
    endless: false,
    progress: onProgress === undefined ? null : (ended, now) => reportProgress(options, ended, now),
  });
  const name = typeof manager === 'string' ? manager : manager.name;
  const setsTargets = name !== 'fixed';
  const { quotaPolicy = setsTargets ? BY_TARGET : DEFAULT_RANGE, weightPolicy = DEFAULT_WEIGHT } =
    options;
  const named = options.quotaPolicy !== undefined || options.weightPolicy !== undefined;
  if (!(options.safeguard ?? (setsTargets || named)))
    return {
      cluster,
      limitController: null,
      control: null,
      names: { manager: name, quotaPolicy: '', weightPolicy: '' },
    };
  const random = new SeededRandom(seed).fork('hooks');
  const { parameters, weights } =
    options.quotaParameters ?? materialOf(quotaPolicy, setsTargets ? undefined : trained);
  const policies = (): Policies => ({
    quota: createPolicy(quotaPolicy, parameters, weights),
    weight: createPolicy(weightPolicy, options.weightParameters),
  });
  // Refuse an unknown name before anything runs, even without hosts.
  policies();
  const limitController = new HookLimitController(cluster, { settings, policies, random });
  cluster.limitController = limitController;
  for (const { decider } of limitController.hosts)
    decider.experiences = options.experiences ?? null;
  let control: ControlPlane | null = null;
  if (setsTargets || onObservation !== undefined) {
    const sides = { ...DEFAULT_CONTROL, ...options.control };
    control = new ControlPlane(cluster, limitController, {
      manager: managerOf(manager, sides, settings, trained),
      options: sides,
      random: new SeededRandom(seed).fork('managers'),
      onObservation: onObservation ?? null,
    });
    limitController.control = control;
  }
  return { cluster, limitController, control, names: { manager: name, quotaPolicy, weightPolicy } };
}

/** Learned policies use their shipped weights unless others are given. */
function materialOf(policy: string, trained: LearnerState | undefined): PolicyMaterial {
  const state = policy === 'faasrm' ? (trained ?? shippedFaasrm('cluster')) : null;
  return state === null
    ? {}
    : { parameters: faasrmParameters(0, false), weights: faasrmWeights(state) };
}

function managerOf(
  manager: string | ResourceManager,
  { capMillicores, capMiB, staleMs }: ControlOptions,
  settings: DecisionSettings,
  trained: LearnerState | undefined,
): ResourceManager {
  if (typeof manager !== 'string') return manager;
  return createManager(manager, {
    cap: { cpu: capMillicores as Millicores, memory: (capMiB * MIB) as Bytes },
    hook: {
      // Agents know no published preset.
      ...(settings.preset === 'default' ? settings : defaultDecisionSettings),
      targetStale: staleMs as Millis,
    },
    trained,
  });
}

/** Reports progress; `now` in us. */
export function reportProgress(options: ClusterOptions, activations: number, now: number): void {
  options.onProgress?.({
    activations,
    simulatedMs: now / 1000,
    share: Math.min(1, now / Math.max(1, options.activations.spanMicros)),
  });
}
