import { weightedReward } from '../../../agents/simppo/index.js';
import type { ScalingReward } from './settings.js';
import { type ClusterTotals, preservation, type ScalingState } from './state.js';

const utilizationOf = ({ cpuUse, memoryUse }: ScalingState): number => (cpuUse + memoryUse) / 2;

/** SLO preservation and utilization only: the figure by which contenders are compared [SIMPPO]. */
export const rawReward = (observed: ScalingState, weights: ScalingReward): number =>
  weightedReward(
    {
      preservation: preservation(observed),
      utilization: utilizationOf(observed),
      penalties: [],
      charge: 0,
      isReversal: false,
    },
    weights,
  );

/**
 * A function's charge on an overcommitted cluster: excess x members x its share, of all allocated
 * CPU (`share`) or of the unused part of it (`idle`, an ablation).
 */
export function congestionCharge(
  { held, cpuUse }: ScalingState,
  { capacity, allocated, idle }: ClusterTotals,
  members: number,
  by: 'share' | 'idle',
): number {
  const occupancy = allocated / capacity;
  const excess = Math.max(0, occupancy - 1);
  if (excess === 0) return 0;
  const own = held.cpu * held.containers;
  if (by === 'share') return (excess * members * own) / allocated;
  return idle > 0 ? (excess * members * idleOf(own, cpuUse, occupancy)) / idle : 0;
}

/** The unused part of a function's share of the cores, scaled to its allocation. */
export const idleOf = (own: number, cpuUse: number, occupancy: number): number =>
  own * (1 - Math.min(1, cpuUse * Math.max(1, occupancy)));

/**
 * SLO preservation as agents learn from it: 1 - ln(p99 / SLO) / ln(`maxSloRatio`), at least 0. The
 * published SLO / p99 is nearly flat once a queue has grown (from 30 x to 60 x the SLO it loses
 * .017), so agents would learn that no action helps.
 */
export function gradedPreservation({ tail, slo }: ScalingState, maxSloRatio: number): number {
  return tail > slo ? Math.max(0, 1 - Math.log(tail / slo) / Math.log(maxSloRatio)) : 1;
}

/** The reward that agents learn from. */
export function learningReward(
  observed: ScalingState,
  totals: ClusterTotals,
  members: number,
  isReversal: boolean,
  reward: ScalingReward,
): number {
  return weightedReward(
    {
      preservation: gradedPreservation(observed, reward.maxSloRatio),
      utilization: utilizationOf(observed),
      penalties: [reward.late * observed.late, reward.failed * observed.failed],
      charge: congestionCharge(observed, totals, members, reward.priceBy),
      isReversal,
    },
    reward,
  );
}
