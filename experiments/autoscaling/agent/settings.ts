import { type PpoSettings, simulatorSettings } from '../../../agents/ppo/index.js';
import {
  type ActionStepSettings,
  type ScalingRewardSettings,
  scalingRewardSettings,
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

export interface ScalingAgentSettings {
  readonly virtual: VirtualAgent;
  readonly actions: ActionStepSettings;
  readonly reward: ScalingRewardSettings;
  /** What a function is charged for by its share: its allocation, or the unused part (ablation). */
  readonly priceBy: 'allocated' | 'idle';
  readonly ppo: PpoSettings;
  /** Episodes of one update: whole ones, so that each segment is followed by its own next state. */
  readonly batchEpisodes: number;
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
  reward: scalingRewardSettings,
  priceBy: 'allocated',
  ppo: simulatorSettings,
  batchEpisodes: 5,
};
