import type { Millis, Random } from '../../../config/index.js';
import { limitAt, nearestPlace, stepMask } from './limits.js';
import { added, isValidSample, measured, openWindow, type Sample, type Window } from './sample.js';
import type { LimitSearch } from './search.js';
import { checkTunerSettings, type LimitRange, type TunerSettings } from './settings.js';

export interface TunerView {
  readonly sample: Sample;
  /** What platform and namespace accept now. */
  readonly allowed: LimitRange;
  /** The function's agent retrains: two learners at once would each learn the other's doing. */
  readonly frozen: boolean;
}

/**
 * Why the limit is what it is. `frozen`: the agent retrains; `settling`: the limit in force has
 * just changed; `holding`: for time or activations; `unbound`: demand did not fill the limit;
 * `disallowed`: the platform accepts none of the grid; `invalid`: the sample cannot be one;
 * `begun`: moved into the grid; `searched`: the search's step, which may be to stay.
 */
export type TunerReason =
  | 'frozen'
  | 'settling'
  | 'holding'
  | 'unbound'
  | 'disallowed'
  | 'invalid'
  | 'begun'
  | 'searched';

export interface TunerDecision {
  /** The target, repeated until it is in force; the sample's limit if nothing shall change. */
  readonly limit: number;
  readonly reason: TunerReason;
}

export interface TunerState<SearchState = unknown> {
  readonly search: SearchState;
  /** Null after a restart, a pause or an invalid sample: the window then starts again. */
  readonly window: Window | null;
  /** A target that is not yet in force; null otherwise. */
  readonly targetLimit: number | null;
}

/** A search on a slow clock, which learns from the limit in force: targets may be overruled. */
export interface ConcurrencyTuner<SearchState = unknown> {
  readonly search: LimitSearch<SearchState>;
  readonly settings: TunerSettings;
  /** `learned`: from an earlier life (`table.ts`). */
  initialState(learned?: SearchState): TunerState<SearchState>;
  decide(
    state: TunerState<SearchState>,
    view: TunerView,
    now: Millis,
    random: Random,
  ): { readonly state: TunerState<SearchState>; readonly decision: TunerDecision };
}

export function concurrencyTuner<SearchState>(
  search: LimitSearch<SearchState>,
  settings: TunerSettings,
): ConcurrencyTuner<SearchState> {
  checkTunerSettings(settings);
  const { grid, hold, bindingShare } = settings;
  return {
    search,
    settings,
    initialState: (learned) => ({
      search: learned ?? search.initialState(),
      window: null,
      targetLimit: null,
    }),
    decide(state, { sample, allowed, frozen }, now, random) {
      const { limit } = sample;
      const dropped = (reason: TunerReason) => ({
        state: { ...state, window: null, targetLimit: null },
        decision: { limit, reason },
      });
      if (!isValidSample(sample)) return dropped('invalid');
      if (frozen) return dropped('frozen');
      const place = nearestPlace(grid, allowed, limit);
      if (place === null) return dropped('disallowed');
      const again = (): Window => openWindow(limit, now);
      const decided = (
        targetLimit: number,
        reason: TunerReason,
        after: SearchState = state.search,
      ) => ({
        state: {
          search: after,
          window: again(),
          targetLimit: targetLimit === limit ? null : targetLimit,
        },
        decision: { limit: targetLimit, reason },
      });
      // The step in which a limit is first seen is part of the old one and full of cold starts:
      // nothing of it counts.
      if (state.window?.limit !== limit) return decided(limit, 'settling');
      const window = added(state.window, sample);
      if (now - window.since < hold.time || window.activations < hold.activations)
        return {
          state: { ...state, window },
          decision: { limit: state.targetLimit ?? limit, reason: 'holding' },
        };
      if (limitAt(grid, place) !== limit) return decided(limitAt(grid, place), 'begun');
      if (window.busy < bindingShare * window.capacity) return decided(limit, 'unbound');
      const next = search.next(
        state.search,
        measured(window, now),
        { grid, place, maskAt: (at) => stepMask(grid, allowed, at) },
        random,
      );
      return decided(limitAt(grid, place + next.action - 1), 'searched', next.state);
    },
  };
}
