import { type PpoSettings, simulatorSettings } from '../../../agents/ppo/index.js';
import {
  type ActionSettings,
  simppoSettings,
  type VirtualAgent,
} from '../../../agents/simppo/index.js';
import { type Bytes, type Millicores, mebibytes } from '../../../config/index.js';

/**
 * What a function can hold (simppo-aware.md §1.5): the platform's bounds, as there is no user's
 * limit. `first`: before anyone decides.
 */
export const SIMPPO_SIZES = {
  first: { cpu: 1024, memory: mebibytes(512) },
  least: { cpu: 128, memory: mebibytes(128), containers: 1 },
  most: { cpu: 2048, memory: mebibytes(1024), containers: 20 },
} as const;

/** Weights of the reward (simppo-aware.md §1.6). */
export interface ScalingReward {
  readonly slo: number;
  readonly utilization: number;
  /** A step that takes the last one of its dimension back. */
  readonly reversal: number;
  /** Of the congestion price. */
  readonly price: number;
  readonly priceBy: 'share' | 'idle';
  /**
   * Of the share of calls that were late or failed: what p99 / SLO alone does not see below the
   * SLO, and sees too late above.
   */
  readonly late: number;
  /**
   * Of the share that failed: killed for memory, or given up while they waited. Falls with each
   * step towards what the load needs.
   */
  readonly failed: number;
  /**
   * p99 / SLO from which SLO preservation is worth nothing, as agents learn from it; 1: SLO / p99
   * as published.
   */
  readonly maxSloRatio: number;
}

export interface ScalingAgentSettings {
  readonly virtual: VirtualAgent;
  readonly actions: ActionSettings;
  readonly reward: ScalingReward;
  readonly ppo: PpoSettings;
  /** Rows of one update. */
  readonly batch: number;
}

export const scalingSettings: ScalingAgentSettings = {
  virtual: 'mf8',
  actions: {
    ...simppoSettings.actions,
    cpuStep: 128 as Millicores,
    memoryStep: mebibytes(64) as Bytes,
    maxContainers: SIMPPO_SIZES.most.containers,
    dimensions: { cpu: true, memory: true, containers: true },
  },
  reward: {
    slo: 0.7,
    utilization: 0.3,
    reversal: 0.1,
    price: 0.5,
    priceBy: 'share',
    late: 0.3,
    failed: 0.3,
    maxSloRatio: 100,
  },
  ppo: simulatorSettings,
  batch: 500,
};
