import type { GuardSettings } from './settings.js';

/** Who acts, and how many steps in a row speak against it. */
export interface GuardState {
  readonly fallbackActs: boolean;
  readonly steps: number;
}

export const GUARD_INITIAL: GuardState = { fallbackActs: false, steps: 0 };

/**
 * After each step of an agent that is online. It takes as many good steps to let the agent act
 * again as low ones to stop it (field-notes A3-14, A3-15): no change with every step. A step
 * without arrivals says nothing.
 */
export function guardStep(
  { fallbackActs, steps }: GuardState,
  { sloPreservation, arrivals }: { readonly sloPreservation: number; readonly arrivals: boolean },
  { low, steps: enough }: GuardSettings,
): GuardState {
  if (!arrivals) return { fallbackActs, steps };
  // NaN is no good news.
  const good = sloPreservation >= low;
  if (good !== fallbackActs) return { fallbackActs, steps: 0 };
  return steps + 1 >= enough
    ? { fallbackActs: !fallbackActs, steps: 0 }
    : { fallbackActs, steps: steps + 1 };
}
