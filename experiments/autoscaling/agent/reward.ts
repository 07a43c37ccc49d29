import type { ScalingReward } from './settings.js';
import { type ClusterTotals, preservation, type ScalingState } from './state.js';

/** 0.7 SLO preservation + 0.3 mean use of CPU and memory: what all are compared by. */
export function rawReward(
  observed: ScalingState,
  { slo, utilization }: Pick<ScalingReward, 'slo' | 'utilization'>,
): number {
  return slo * preservation(observed) + (utilization * (observed.cpuUse + observed.memoryUse)) / 2;
}

/**
 * What a function pays for a cluster that has promised more than it has. `share`: its share of all
 * promises x members x excess (simppo-aware.md §6.4). `idle`: its share of what is promised and
 * *not used*, so that who needs all it is given pays nothing.
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

/**
 * Of what a function is promised and really given (its share of the cores), what it does not use;
 * on the scale of promises.
 */
export const idleOf = (own: number, cpuUse: number, occupancy: number): number =>
  own * (1 - Math.min(1, cpuUse * Math.max(1, occupancy)));

/**
 * SLO preservation as agents learn from it: 1 - ln(p99 / SLO) / ln(`hopeless`), between 0 and 1.
 * The published SLO / p99 is nearly flat once a queue has grown: from 30 x to 60 x the SLO it loses
 * .017, and an agent learns that nothing helps any more.
 */
export function gradedPreservation({ tail, slo }: ScalingState, maxSloRatio: number): number {
  return tail > slo ? Math.max(0, 1 - Math.log(tail / slo) / Math.log(maxSloRatio)) : 1;
}

/** What an agent learns from. */
export function learningReward(
  observed: ScalingState,
  totals: ClusterTotals,
  members: number,
  reversed: boolean,
  reward: ScalingReward,
): number {
  return (
    reward.slo *
      (reward.maxSloRatio > 1
        ? gradedPreservation(observed, reward.maxSloRatio)
        : preservation(observed)) +
    (reward.utilization * (observed.cpuUse + observed.memoryUse)) / 2 -
    reward.late * observed.late -
    reward.failed * observed.failed -
    reward.price * congestionCharge(observed, totals, members, reward.priceBy) -
    (reversed ? reward.reversal : 0)
  );
}
