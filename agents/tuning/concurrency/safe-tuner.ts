import type { Millis, Random } from '../../../config/index.js';
import {
  checkLimit,
  type LimitGuardState,
  limitGuardState,
  type SavedGuard,
  type UnsafeLimit,
} from './guard.js';
import { isValidSample } from './sample.js';
import type { ConcurrencyTuner, TunerReason, TunerState, TunerView } from './tuner.js';

export interface SafeTunerView extends TunerView {
  /** The limit that the action's user set. */
  readonly user: number;
}

/** `unsafe`: the current limit causes harm and is left at once. */
export type SafeTunerReason = TunerReason | 'unsafe';

export interface SafeTunerState<SearchState = unknown> {
  readonly tuner: TunerState<SearchState>;
  readonly guard: LimitGuardState;
}

interface SafeTunerDecision {
  readonly limit: number;
  readonly reason: SafeTunerReason;
  /** A limit that was found to do harm by this sample; null: none. */
  readonly found: UnsafeLimit | null;
}

/** A tuner in the range that its guard allows. Pure except for `random`. */
export interface SafeTuner<SearchState = unknown> {
  readonly tuner: ConcurrencyTuner<SearchState>;
  initialState(learned?: SearchState, guard?: SavedGuard | null): SafeTunerState<SearchState>;
  decide(
    state: SafeTunerState<SearchState>,
    view: SafeTunerView,
    now: Millis,
    random: Random,
  ): { readonly state: SafeTunerState<SearchState>; readonly decision: SafeTunerDecision };
}

export function safeTuner<SearchState>(
  tuner: ConcurrencyTuner<SearchState>,
): SafeTuner<SearchState> {
  return {
    tuner,
    initialState: (learned, kept = null) => ({
      tuner: tuner.initialState(learned),
      guard: limitGuardState(kept),
    }),
    decide(state, { user, ...view }, now, random) {
      const verdict = isValidSample(view.sample)
        ? checkLimit(state.guard, { ...view, user }, tuner.settings.hold, now)
        : null;
      const found = verdict?.found ?? null;
      const guard = verdict?.state ?? state.guard;
      // Also while the agent learns or is paused: harm does not wait for it. What was measured is
      // of no use.
      if (verdict !== null && verdict.back !== null) {
        const limit = verdict.back;
        const dropped = { ...state.tuner, window: null, targetLimit: limit };
        return {
          state: { tuner: dropped, guard },
          decision: { limit, reason: 'unsafe', found },
        };
      }
      const allowed = verdict?.allowed ?? view.allowed;
      const next = tuner.decide(state.tuner, { ...view, allowed }, now, random);
      return { state: { tuner: next.state, guard }, decision: { ...next.decision, found } };
    },
  };
}
