import type { GuardSettings } from './settings.js';

/** Whether the fallback acts, and how many steps in a row are evidence for a change. */
export interface GuardState {
  readonly fallbackActs: boolean;
  readonly steps: number;
}

export const GUARD_INITIAL: GuardState = { fallbackActs: false, steps: 0 };

/** Several steps in a row change the actor; a step without activations is no evidence. */
export function guardStep(
  { fallbackActs, steps }: GuardState,
  { sloPreservation, arrivals }: { readonly sloPreservation: number; readonly arrivals: boolean },
  { low, steps: enough }: GuardSettings,
): GuardState {
  if (!arrivals) return { fallbackActs, steps };
  // NaN compares as low.
  const good = sloPreservation >= low;
  if (good !== fallbackActs) return { fallbackActs, steps: 0 };
  return steps + 1 >= enough
    ? { fallbackActs: !fallbackActs, steps: 0 }
    : { fallbackActs, steps: steps + 1 };
}
