import type { FaasrmExperience } from '../../broker/messages/index.js';

/** A call that took longer counts as one of this slowdown: one must not rule a batch. */
const MAX_SLOWDOWN = 4;
/** Place of the free share of the host's CPU among the features of the state. */
const FREE_CPU = 1;

/**
 * What came of one choice: the published terms of one completion, -s + (1 - s) where it was faster
 * and -s - (s - 1) where it was slower than at user limits, which both are 1 - 2 s (faasrm.md §2),
 * less a price for what others may lose by it. Without one, who decides for itself asks for all
 * there is: more never makes it slower. It is due for the part of the host's CPU that was asked
 * for, and rises with the part that is taken.
 */
export function experienceReward(
  { slowdown, share, state }: FaasrmExperience,
  price: number,
): number {
  const taken = 1 - (state[FREE_CPU] ?? 0);
  return 1 - 2 * Math.min(MAX_SLOWDOWN, slowdown) - price * taken * share;
}
