import {
  type Bytes,
  type Config,
  defaultConfig,
  type Millicores,
  type Millis,
  mebibytes,
  millis,
} from '../../config/index.js';
import { type RangeRules, rangeRules } from '../../rules/index.js';
import { onlineSettings, type PpoSettings, simulatorSettings } from '../ppo/index.js';

/** Which statistics of all other agents an agent sees; `none`: no others and no price. */
export type VirtualAgent = 'mf8' | 'g4' | 'none';

/** Sizes of one step, and which dimensions the platform can change at all. */
export interface ActionStepSettings {
  readonly cpuStep: Millicores;
  /** Weight mode: a step multiplies or divides the policy's weight by this. */
  readonly weightStep: number;
  readonly maxWeightFactor: number;
  readonly memoryStep: Bytes;
  readonly maxContainers: number;
  readonly dimensions: {
    readonly cpu: boolean;
    readonly memory: boolean;
    readonly containers: boolean;
  };
}

/** What hooks make of a target, by their configuration (`decision`). */
export interface HookRules extends RangeRules {
  /** They drop an older target, so a longer step is not used for learning. */
  readonly targetStale: Millis;
}

export const hookRules = (decision: Config['decision']): HookRules => ({
  ...rangeRules(decision),
  targetStale: millis(decision.targetStaleMs),
});

/** Weights of the reward's terms. */
export interface RewardSettings {
  readonly slo: number;
  readonly utilization: number;
  /** Weight of ln(mean latency / control arm's mean), cut to +-1: slower costs, faster pays. */
  readonly slowdown: number;
  /** Weight of the congestion price: the function's share of the demand beyond the capacity. */
  readonly price: number;
  /** A step that takes the last one of its dimension back. */
  readonly reversal: number;
}

/** Weights of the reward without user limits; `late` and `failed` are additions to [SIMPPO]. */
export interface ScalingRewardSettings extends Omit<RewardSettings, 'slowdown'> {
  /**
   * Weight of the share of slow and failed activations: p99 / SLO shows them late or not at all.
   */
  readonly late: number;
  /** Penalty of failed activations, as a share: OOM kills, or timed out while waiting. */
  readonly failed: number;
  /** p99 / SLO from which SLO preservation is 0 for learning. */
  readonly maxSloRatio: number;
}

/** Weights of SLO preservation and utilization [AWARE artifact]. */
export const PUBLISHED_WEIGHTS = { slo: 0.7, utilization: 0.3 } as const;

export const scalingRewardSettings: ScalingRewardSettings = {
  ...PUBLISHED_WEIGHTS,
  price: 0.5,
  reversal: 0.1,
  late: 0.3,
  failed: 0.3,
  maxSloRatio: 100,
};

export interface SimppoSettings {
  readonly virtual: VirtualAgent;
  readonly actions: ActionStepSettings;
  readonly reward: RewardSettings;
  readonly ppo: PpoSettings;
  readonly batch: number;
  /** Rows that suffice after `batchMs`, for functions with few activations. */
  readonly minBatch: number;
  readonly batchMs: Millis;
  /** Time to which `ppo.gamma` refers; other steps are discounted by gamma^(length / this). */
  readonly stepMs: Millis;
  readonly hook: HookRules;
  /** Activations a second from which a function has its own policy. Infinity: all share one. */
  readonly ownRate: number;
  /** Updates of an agent that was told to retrain, until it serves again. */
  readonly retrainUpdates: number;
  /** `online`: samples and learns; `serving`: takes the best action until told to retrain. */
  readonly begin: 'online' | 'serving';
}

export const simppoSettings: SimppoSettings = {
  virtual: 'mf8',
  actions: {
    cpuStep: 100 as Millicores,
    weightStep: Math.SQRT2,
    maxWeightFactor: 2,
    memoryStep: mebibytes(32),
    maxContainers: 20,
    dimensions: { cpu: true, memory: false, containers: false },
  },
  // Utilization and reversals weigh little: at .3 and .1 agents learn to hold quotas at the least
  // allowed, and otherwise to stay where they are.
  reward: { slo: 0.7, utilization: 0.1, slowdown: 1, price: 0.5, reversal: 0.02 },
  ppo: simulatorSettings,
  batch: 512,
  minBatch: 32,
  batchMs: Number.POSITIVE_INFINITY as Millis,
  stepMs: 10_000 as Millis,
  hook: hookRules(defaultConfig.decision),
  ownRate: 1,
  retrainUpdates: 10,
  begin: 'serving',
};

/**
 * How agents learn on from trained weights on real hosts: at a constant rate, as the simulator's
 * schedule has run out, and after 5 minutes, as a step every 10 s would fill a batch of 512 in 85
 * minutes.
 */
export const liveLearning: Pick<SimppoSettings, 'ppo' | 'batchMs'> = {
  ppo: onlineSettings,
  batchMs: 300_000 as Millis,
};

/** Multi-tenant single-agent learning, the baseline of [SIMPPO]: no global state and no price. */
export const singleAgentSettings: SimppoSettings = {
  ...simppoSettings,
  virtual: 'none',
  reward: { ...simppoSettings.reward, price: 0 },
};
