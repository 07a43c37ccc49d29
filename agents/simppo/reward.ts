import { sloPreservation } from '../features.js';
import type { View } from '../resource-manager.js';
import type { RewardSettings } from './settings.js';

/** What one step is rewarded for [SIMPPO]. */
export interface RewardTerms {
  readonly preservation: number;
  readonly utilization: number;
  /** Further costs of the environment, already weighted. */
  readonly penalties: readonly number[];
  /** The congestion charge. */
  readonly charge: number;
  readonly isReversal: boolean;
}

/** The reward of one step: SLO preservation and utilization, less penalties, charge, reversal. */
export function weightedReward(
  { preservation, utilization, penalties, charge, isReversal }: RewardTerms,
  weights: Pick<RewardSettings, 'slo' | 'utilization' | 'price' | 'reversal'>,
): number {
  let reward = weights.slo * preservation + weights.utilization * utilization;
  for (const penalty of penalties) reward -= penalty;
  return reward - weights.price * charge - (isReversal ? weights.reversal : 0);
}

/**
 * The reward on a host. Utilization counts in quota mode only, as a weight is not an amount. The
 * slowdown against the control arm (as in `Remembered`) counts in both directions.
 */
export function rewardOf(
  view: View,
  slowdown: number,
  isReversal: boolean,
  settings: RewardSettings,
): number {
  const { observation } = view;
  const limit = observation.cpuMode === 'quota' ? observation.granted.cpu.mean : 0;
  return weightedReward(
    {
      preservation: sloPreservation(observation),
      utilization: limit > 0 ? Math.min(1, observation.used.cpu / limit) : 0,
      penalties: [settings.slowdown * slowdown],
      charge: chargeOf(view),
      isReversal,
    },
    settings,
  );
}

/**
 * Excess of the host's demand x the function's share of it x members: an average function is
 * charged the excess, at most 1. Nothing in weight mode: a weight asks for no amount.
 */
export function chargeOf({ observation, others, price }: View): number {
  if (price === null || others === null || price.cpu <= 0 || observation.cpuMode === 'weight')
    return 0;
  const own = observation.demand.cpu * Math.max(1, observation.running);
  const members = others.members + 1;
  const total = own + others.demand.cpu;
  return total > 0 ? Math.min(1, price.cpu * (own / total) * members) : 0;
}
