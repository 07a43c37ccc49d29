import type { FaasrmExperience } from '../../broker/messages/index.js';

/** An activation that took longer counts as one of this slowdown: one must not rule a batch. */
const MAX_SLOWDOWN = 4;
/** Place of the free share of the host's CPU among the features of the state. */
const FREE_CPU = 1;

/**
 * The reward of one choice. [FaaSRM] gives -s + (1 - s) for a faster and -s - (s - 1) for a slower
 * activation than at user limits; both are 1 - 2 s. The price is an addition: without it each
 * activation would ask for everything, as more CPU never makes it slower. It is charged for the
 * share of the host's CPU that was asked for, and rises with the share that is allocated.
 */
export function experienceReward(
  { slowdown, share, state }: FaasrmExperience,
  price: number,
): number {
  const taken = 1 - (state[FREE_CPU] ?? 0);
  return 1 - 2 * Math.min(MAX_SLOWDOWN, slowdown) - price * taken * share;
}
