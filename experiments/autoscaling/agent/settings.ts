import { type PpoSettings, simulatorSettings } from '../../../agents/ppo/index.js';
import {
  type ActionSettings,
  simppoSettings,
  type VirtualAgent,
} from '../../../agents/simppo/index.js';
import { type Bytes, type Millicores, mebibytes } from '../../../config/index.js';

/** Sizes that the platform allows [AWARE artifact]; `first`: before the first decision. */
export const SIMPPO_SIZES = {
  first: { cpu: 1024, memory: mebibytes(512) },
  least: { cpu: 128, memory: mebibytes(128), containers: 1 },
  most: { cpu: 2048, memory: mebibytes(1024), containers: 20 },
} as const;

/** Weights of the reward [AWARE artifact]; `late` and `failed` are additions. */
export interface ScalingReward {
  readonly slo: number;
  readonly utilization: number;
  /** Penalty of a step that takes back the last one in a dimension. */
  readonly reversal: number;
  /** Of the congestion price. */
  readonly price: number;
  readonly priceBy: 'share' | 'idle';
  /**
   * Penalty of slow and failed activations, as a share: below the SLO p99 / SLO hides them, and
   * above the SLO it shows them late.
   */
  readonly late: number;
  /** Penalty of failed activations, as a share: OOM kills, or timed out while waiting. */
  readonly failed: number;
  /** p99 / SLO from which SLO preservation is 0 for learning. */
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
