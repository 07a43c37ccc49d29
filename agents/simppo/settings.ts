import { type Bytes, type Millicores, type Millis, mebibytes } from '../../config/index.js';
import { onlineSettings, type PpoSettings, simulatorSettings } from '../ppo/index.js';

/**
 * Which of the others' statistics an agent sees (simppo-aware.md §1.3); `none`: it is alone, and
 * pays no price.
 */
export type VirtualAgent = 'mf8' | 'g4' | 'g8var' | 'none';

/** Sizes of one step, and which dimensions the platform can change at all. */
export interface ActionSettings {
  readonly cpuStep: Millicores;
  /**
   * Weight mode: the policy's weight is multiplied by this, or divided, within 1 / `weightMost` ..
   * `weightMost` (design §3).
   */
  readonly weightStep: number;
  readonly maxWeightFactor: number;
  readonly memoryStep: Bytes;
  readonly maxContainers: number;
  readonly dimensions: {
    readonly cpu: boolean;
    readonly memory: boolean;
    readonly containers: boolean;
  };
  /**
   * The safeguard's range as hooks have it by default (design §3.2): peak <= thetaUser x user is
   * over-provisioned; the lower bound is max(peak + unit, peak / room). A hook has the last word,
   * so these only keep agents from wishing what would be clipped.
   */
  readonly range: {
    readonly thetaUser: number;
    readonly targetUtilization: number;
    readonly cpuUnit: Millicores;
    readonly cpuUnitShare: number;
    readonly memoryUnit: Bytes;
    readonly halfLife: Millis;
  };
}

/** Weights of the reward's terms (design §4). */
export interface RewardSettings {
  readonly slo: number;
  readonly utilization: number;
  /**
   * Of ln(mean latency / control arm's mean), cut to +-1: slower costs, faster pays, so the edge of
   * the SLO is no optimum.
   */
  readonly slowdown: number;
  /** Of the congestion price: the function's share of what is wanted beyond what there is. */
  readonly price: number;
  /** A step that takes the last one of its dimension back. */
  readonly reversal: number;
}

export interface SimppoSettings {
  readonly virtual: VirtualAgent;
  readonly actions: ActionSettings;
  readonly reward: RewardSettings;
  readonly ppo: PpoSettings;
  /** Rows of one update. */
  readonly batch: number;
  /**
   * Fewer rows do where the oldest has waited for `batchMs`, so that few calls teach in minutes and
   * not in hours: at least `batchLeast`.
   */
  readonly minBatch: number;
  readonly batchMs: Millis;
  /**
   * Time to which `ppo.gamma` refers: a step of another length is discounted by gamma^(length /
   * this).
   */
  readonly stepMs: Millis;
  /**
   * A wish older than this was no longer in force: what came after it teaches nothing (hooks: 60
   * s).
   */
  readonly staleMs: Millis;
  /**
   * Activations a second, on all hosts together, from which a function has weights of its own;
   * below, it runs on the base policy. Infinity: all share it.
   */
  readonly ownRate: number;
  /** Updates of an agent that was told to retrain, until it serves again. */
  readonly retrainUpdates: number;
  /**
   * `online`: agents sample their actions and learn from the start; `serving`: they take the best
   * action until told to retrain.
   */
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
    range: {
      thetaUser: 0.9,
      targetUtilization: 0.75,
      cpuUnit: 50 as Millicores,
      cpuUnitShare: 0.05,
      memoryUnit: mebibytes(16),
      halfLife: 3_600_000 as Millis,
    },
  },
  // Utilization and reversals weigh little: at .3 and .1 agents learn to hold quotas at the least
  // allowed, and otherwise to stay where they are.
  reward: { slo: 0.7, utilization: 0.1, slowdown: 1, price: 0.5, reversal: 0.02 },
  ppo: simulatorSettings,
  batch: 512,
  minBatch: 32,
  batchMs: Number.POSITIVE_INFINITY as Millis,
  stepMs: 10_000 as Millis,
  staleMs: 60_000 as Millis,
  ownRate: 1,
  retrainUpdates: 10,
  begin: 'serving',
};

/**
 * How agents learn on from weights that have learned already, on real hosts. The simulator's
 * schedule has run out there: at a rate of 0 an update changes nothing. And a function with a step
 * every 10 s would fill a batch of 512 in 85 minutes; half a mini-batch is noisier, and moves
 * weights by a sixteenth of the steps.
 */
export const liveLearning: Pick<SimppoSettings, 'ppo' | 'batchMs'> = {
  ppo: onlineSettings,
  batchMs: 300_000 as Millis,
};

/**
 * Multi-tenant single-agent learning (simppo-aware.md §4.2): the same agent without the global
 * state, so without a price too.
 */
export const singleAgentSettings: SimppoSettings = {
  ...simppoSettings,
  virtual: 'none',
  reward: { ...simppoSettings.reward, price: 0 },
};
