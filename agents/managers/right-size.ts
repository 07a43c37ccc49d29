import { type Bytes, type Millis, mebibytes } from '../../config/index.js';
import { memoryAfterOom } from '../../rules/index.js';
import type { ResourceManager } from '../resource-manager.js';

/** Constants of right-sizing. Bytes, ms. */
export interface RightSizeConstants {
  /** Sizes are least + k × step up to most: OpenWhisk's default limits in the units of [FaaSRM]. */
  readonly least: number;
  readonly most: number;
  readonly step: number;
  /** Margin above the peak: the larger of a share and an amount. The share is the hook's own. */
  readonly marginShare: number;
  readonly minMargin: number;
  readonly halfLife: Millis;
  /** The peaks of this many newest steps do not decay: a rare function keeps its peak. */
  readonly recent: number;
  /** Activations since the start, or since the last change, before a size may fall. */
  readonly activationsBeforeFall: number;
  /** Least time between a change and a fall: each change is a new revision with cold starts. */
  readonly hold: Millis;
  /** Activations after an OOM kill during which the size does not fall. */
  readonly activationsAfterOom: number;
}

export const RIGHT_SIZE_DEFAULT: RightSizeConstants = {
  least: mebibytes(128),
  most: mebibytes(512),
  step: mebibytes(64),
  marginShare: 0.25,
  minMargin: mebibytes(32),
  halfLife: 3_600_000 as Millis,
  recent: 8,
  activationsBeforeFall: 100,
  hold: 30_000 as Millis,
  activationsAfterOom: 1000,
};

export interface RightSizeState {
  /** The user's own limit, not a size that this manager applied; null before the first step. */
  readonly user: number | null;
  readonly nominal: number | null;
  readonly previous: number | null;
  readonly changedAt: Millis | null;
  readonly peak: number;
  readonly peakAt: Millis;
  readonly recent: readonly number[];
  readonly activations: number;
  /** Activations until a size may fall again. */
  readonly activationsUntilFall: number;
}

const INITIAL: RightSizeState = {
  user: null,
  nominal: null,
  previous: null,
  changedAt: null,
  peak: 0,
  peakAt: 0 as Millis,
  recent: [],
  activations: 0,
  activationsUntilFall: 0,
};

/** Smallest size that holds `bytes`; sizes continue above `most` up to the user limit. */
export function nominalSize(
  bytes: number,
  user: number,
  { least, most, step }: RightSizeConstants,
): number {
  const ceiling = Math.max(most, user);
  const size = least + Math.max(0, Math.ceil((bytes - least) / step)) * step;
  // The user limit is a size too: rounding up must not exceed it.
  if (bytes <= user && size > user) return user;
  return Math.min(ceiling, size);
}

/** The decayed peak, but never below the peaks of the newest steps. */
function recentPeak(state: RightSizeState, halfLife: number, now: number): number {
  return Math.max(state.peak * 2 ** (-Math.max(0, now - state.peakAt) / halfLife), ...state.recent);
}

/**
 * OpenWhisk admits by nominal memory, so only a smaller `limits.memory` lets more warm containers
 * fit. The size is peak + margin; it rises at once, and falls only after enough activations and
 * time. An OOM kill restores the user limit, or exceeds it once by {@link memoryAfterOom}. Hooks
 * compensate the smaller CPU weight (`FunctionState.rightSizeFactor`).
 */
export function rightSizeManager(constants: RightSizeConstants): ResourceManager<RightSizeState> {
  return {
    name: 'right-size',
    initialState: () => INITIAL,
    phase: () => 'managing',
    decide(before, { observation }, now) {
      const { activations, control, oomKills } = observation;
      const limit = observation.user.memory;
      if (!(limit > 0)) return { state: before, decision: { actions: [0, 0, 0] } };
      // The observed limit is the user's or one that this manager set; any other one means that the
      // user has changed it.
      const ours =
        before.user !== null &&
        (limit === before.nominal || limit === before.previous || limit === before.user);
      const known: RightSizeState = ours ? before : { ...INITIAL, user: limit, nominal: limit };
      const user = known.user ?? limit;
      const nominal = known.nominal ?? limit;
      const ended = activations + control.activations;

      let peak = recentPeak({ ...known, recent: [] }, constants.halfLife, now);
      let { recent } = known;
      if (ended > 0 && observation.peak.memory > 0) {
        peak = Math.max(peak, observation.peak.memory);
        recent = [...recent, observation.peak.memory].slice(-constants.recent);
      }
      let activationsUntilFall = Math.max(0, known.activationsUntilFall - ended);
      let needed = 0;
      if (oomKills > 0) {
        activationsUntilFall = constants.activationsAfterOom;
        // Above the user limit only if that limit itself was too small.
        needed = limit >= user ? memoryAfterOom(limit) : user;
        // The kill proves a peak of this size; at the user limit, one that keeps the larger size
        // until it has decayed.
        peak = Math.max(peak, limit >= user ? needed / (1 + constants.marginShare) : limit);
      }
      const state: RightSizeState = {
        ...known,
        user,
        nominal,
        peak,
        peakAt: now,
        recent,
        activations: known.activations + ended,
        activationsUntilFall,
      };
      const highest = recentPeak(state, constants.halfLife, now);
      if (highest > 0) {
        const margin = Math.max(constants.marginShare * highest, constants.minMargin);
        // The margin alone never exceeds the user limit.
        needed = Math.max(
          needed,
          highest <= user ? Math.min(user, highest + margin) : highest + margin,
        );
      }
      const size = needed > 0 ? nominalSize(needed, user, constants) : nominal;
      const settled = known.changedAt === null || now - known.changedAt >= constants.hold;
      const mayFall =
        activationsUntilFall === 0 &&
        state.activations >= constants.activationsBeforeFall &&
        settled;
      const next = size > nominal || (size < nominal && mayFall) ? size : nominal;
      const changed = next !== nominal;
      return {
        state: changed
          ? { ...state, nominal: next, previous: nominal, changedAt: now, activations: 0 }
          : state,
        decision: {
          nominalMemory: next as Bytes,
          actions: [0, 0, Math.sign(next - nominal)],
        },
      };
    },
  };
}
