import { sloPreservation } from '../features.js';
import type { View } from '../resource-manager.js';
import type { RewardSettings } from './settings.js';

/**
 * Of one step (design §4): SLO preservation, utilization of what was granted (quota mode: a weight
 * is no amount), the slowdown against the control arm on both sides of 1, the congestion price and
 * the reversal. `slowdown`: as `Remembered` has it.
 */
export function rewardOf(
  view: View,
  slowdown: number,
  reversed: boolean,
  settings: RewardSettings,
): number {
  const { observation } = view;
  const quota = observation.cpuMode === 'quota';
  const limit = observation.granted.cpu.mean;
  const utilization = quota && limit > 0 ? Math.min(1, observation.used.cpu / limit) : 0;
  return (
    settings.slo * sloPreservation(observation) +
    settings.utilization * utilization -
    settings.slowdown * slowdown -
    settings.price * chargeOf(view) -
    (reversed ? settings.reversal : 0)
  );
}

/**
 * Excess of the host's wishes x the function's share of all wishes x members, so that an average
 * function is charged the excess; at most 1. Nothing in weight mode: a weight asks for no amount,
 * and if all raise theirs nobody has lost anything.
 */
export function chargeOf({ observation, others, price }: View): number {
  if (price === null || others === null || price.cpu <= 0 || observation.cpuMode === 'weight')
    return 0;
  const own = observation.demand.cpu * Math.max(1, observation.running);
  const members = others.members + 1;
  const total = own + others.demand.cpu;
  return total > 0 ? Math.min(1, price.cpu * (own / total) * members) : 0;
}
