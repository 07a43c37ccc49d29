import type { Millis, Random } from '../../config/index.js';
import { type BadLimit, type KeptGuard, type LimitGuardState, limitGuardState, watch } from './guard.js';
import { isSoundSample } from './sample.js';
import type { ConcurrencyTuner, TunerReason, TunerState, TunerView } from './tuner.js';

export interface GuardedView extends TunerView {
  /** The limit that the action's user set. */
  readonly user: number;
}

/** `unsafe`: the limit in force does harm, and is left at once. */
export type GuardedReason = TunerReason | 'unsafe';

export interface GuardedState<SearchState = unknown> {
  readonly tuner: TunerState<SearchState>;
  readonly guard: LimitGuardState;
}

export interface GuardedDecision {
  readonly limit: number;
  readonly reason: GuardedReason;
  /** A limit that was found to do harm by this sample; null: none. */
  readonly found: BadLimit | null;
}

/** A tuner in a range that its guard makes smaller (`guard.ts`). The tuner itself knows nothing of it. Pure but for `random`. */
export interface GuardedTuner<SearchState = unknown> {
  readonly tuner: ConcurrencyTuner<SearchState>;
  initialState(learned?: SearchState, guard?: KeptGuard | null): GuardedState<SearchState>;
  decide(
    state: GuardedState<SearchState>,
    view: GuardedView,
    now: Millis,
    random: Random,
  ): { readonly state: GuardedState<SearchState>; readonly decision: GuardedDecision };
}

/** `guard` false: the tuner alone, as published. */
export function guardedTuner<SearchState>(
  tuner: ConcurrencyTuner<SearchState>,
  guard: boolean,
): GuardedTuner<SearchState> {
  return {
    tuner,
    initialState: (learned, kept = null) => ({ tuner: tuner.initialState(learned), guard: limitGuardState(kept) }),
    decide(state, { user, ...view }, now, random) {
      const watched = guard && isSoundSample(view.sample);
      const verdict = watched ? watch(state.guard, { ...view, user }, tuner.settings.hold, now) : null;
      const found = verdict?.found ?? null;
      const guarded = verdict?.state ?? state.guard;
      // Also while the agent learns or is paused: harm does not wait for it. What was measured is of no use.
      if (verdict !== null && verdict.back !== null) {
        const limit = verdict.back;
        const dropped = { ...state.tuner, window: null, wish: limit };
        return { state: { tuner: dropped, guard: guarded }, decision: { limit, reason: 'unsafe', found } };
      }
      const allowed = verdict?.allowed ?? view.allowed;
      const next = tuner.decide(state.tuner, { ...view, allowed }, now, random);
      return { state: { tuner: next.state, guard: guarded }, decision: { ...next.decision, found } };
    },
  };
}
