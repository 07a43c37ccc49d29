import { sloPreservation } from '../features.js';
import type { View } from '../resource-manager.js';
import { PUBLISHED_WEIGHTS, type RewardSettings, type ScalingRewardSettings } from './settings.js';

interface RewardTerms {
  readonly preservation: number;
  readonly utilization: number;
  /** Further costs of the environment, already weighted. */
  readonly penalties: readonly number[];
  /** The congestion charge. */
  readonly charge: number;
  readonly isReversal: boolean;
}

/** The reward of one step: SLO preservation and utilization, less penalties, charge, reversal. */
function weightedReward(
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

/** Against the functions of the host. Nothing in weight mode, which asks for no amount; <= 1. */
export function chargeOf({ observation, others, price, invoker }: View): number {
  if (price === null || others === null || observation.cpuMode === 'weight') return 0;
  const own = observation.demand.cpu;
  const average = invoker?.functionDemand;
  if (average !== undefined) return Math.min(1, congestionCharge(price.cpu, 1, own, average));
  return Math.min(1, congestionCharge(price.cpu, others.members + 1, own, own + others.demand.cpu));
}

/** Excess x members x the function's share: an average function is charged the excess. */
export const congestionCharge = (
  excess: number,
  members: number,
  own: number,
  total: number,
): number => (excess > 0 && total > 0 ? (excess * members * own) / total : 0);

/** A step on a platform without user limits and control arm, as published [SIMPPO]. */
export interface ScalingOutcome {
  /** p99 of the response time, in the SLO's unit. */
  readonly tail: number;
  readonly slo: number;
  /** Shares of the limits, 0 to 1. */
  readonly cpuUse: number;
  readonly memoryUse: number;
  /** Shares of the activations. */
  readonly late: number;
  readonly failed: number;
}

/** SLO preservation and mean use, the figure by which contenders are compared [SIMPPO], [AWARE]. */
export const publishedReward = (preservation: number, cpuUse: number, memoryUse: number): number =>
  PUBLISHED_WEIGHTS.slo * preservation + PUBLISHED_WEIGHTS.utilization * ((cpuUse + memoryUse) / 2);

/**
 * The reward that agents learn from. Its SLO preservation is 1 - ln(p99 / SLO) / ln(`maxSloRatio`),
 * at least 0: the published SLO / p99 is nearly flat once a queue has grown (from 30 x to 60 x the
 * SLO it loses .017), so agents would learn that no action helps.
 */
export function scalingReward(
  outcome: ScalingOutcome,
  charge: number,
  isReversal: boolean,
  settings: ScalingRewardSettings,
): number {
  const { tail, slo, late, failed } = outcome;
  return weightedReward(
    {
      preservation:
        tail > slo ? Math.max(0, 1 - Math.log(tail / slo) / Math.log(settings.maxSloRatio)) : 1,
      utilization: (outcome.cpuUse + outcome.memoryUse) / 2,
      penalties: [settings.late * late, settings.failed * failed],
      charge,
      isReversal,
    },
    settings,
  );
}
