import { type Bytes, type Millis, mebibytes } from '../../config/index.js';
import type { ResourceManager } from '../resource-manager.js';
import { afterOom } from './validation.js';

/** Constants of right-sizing. Bytes, ms. */
export interface RightSizeConstants {
  /**
   * Sizes are least + k x step up to most: OpenWhisk's standard limits (simppo-aware.md §1.5) in
   * FaaSRM's units of 64 MB.
   */
  readonly least: number;
  readonly most: number;
  readonly step: number;
  /**
   * Room above the peak: the larger of a share and an amount. The share is the hook's own before it
   * lowers a limit.
   */
  readonly marginShare: number;
  readonly minMargin: number;
  /** Peaks lose half of themselves in so long (design §3). */
  readonly halfLife: Millis;
  /** Newest steps whose peaks count whole, however long ago they were (field-notes A3-15). */
  readonly recent: number;
  /**
   * Calls that must have been seen since the start, or since the last change, before a size falls.
   */
  readonly callsBeforeFall: number;
  /**
   * Least time between a change and a fall: a change makes a new revision and so cold starts
   * (design §4).
   */
  readonly hold: Millis;
  /** Calls after an OOM kill below the user's limit in which nothing falls. */
  readonly callsAfterOom: number;
}

export const RIGHT_SIZE_DEFAULT: RightSizeConstants = {
  least: mebibytes(128),
  most: mebibytes(512),
  step: mebibytes(64),
  marginShare: 0.25,
  minMargin: mebibytes(32),
  halfLife: 3_600_000 as Millis,
  recent: 8,
  callsBeforeFall: 100,
  hold: 30_000 as Millis,
  callsAfterOom: 1000,
};

export interface RightSizeState {
  /**
   * What the user asked for; null before the first observation. A nominal size of ours, when it
   * comes back, is not that.
   */
  readonly user: number | null;
  readonly nominal: number | null;
  readonly previous: number | null;
  readonly changedAt: Millis | null;
  readonly peak: number;
  readonly peakAt: Millis;
  /** Peaks of the newest steps. */
  readonly recent: readonly number[];
  readonly calls: number;
  /** Calls still to come until a size may fall again. */
  readonly callsUntilFall: number;
}

const INITIAL: RightSizeState = {
  user: null,
  nominal: null,
  previous: null,
  changedAt: null,
  peak: 0,
  peakAt: 0 as Millis,
  recent: [],
  calls: 0,
  callsUntilFall: 0,
};

/**
 * Smallest size that holds `bytes`; sizes go on in steps above `most` where the user's own limit
 * lies there.
 */
export function nominalSize(
  bytes: number,
  user: number,
  { least, most, step }: RightSizeConstants,
): number {
  const ceiling = Math.max(most, user);
  const size = least + Math.max(0, Math.ceil((bytes - least) / step)) * step;
  // The user's own limit is a size too: rounding up past it would give more than was asked for.
  if (bytes <= user && size > user) return user;
  return Math.min(ceiling, size);
}

/** The highest peak of late: decayed, but never below the newest steps'. */
export function recentPeak(state: RightSizeState, halfLife: number, now: number): number {
  return Math.max(state.peak * 2 ** (-Math.max(0, now - state.peakAt) / halfLife), ...state.recent);
}

/**
 * Sets each action's nominal memory from its history (design §3, memory): OpenWhisk admits by
 * nominal memory, so only a smaller `limits.memory` makes room for more warm containers. Peak +
 * margin, rounded up to a size. It rises at once and falls only after enough calls and some time;
 * an OOM kill gives the user's size back, at the user's own limit one step of 20 % or 100 MB more,
 * once, however often it is killed (field-notes A3-03). CPU follows memory in OpenWhisk; hooks make
 * up for a smaller container's weight (`FunctionState.paidFactor`). The containers' limits are left
 * alone.
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
      // A container shows the action's limit, which is ours once it was applied. Any other means
      // that the user changed it.
      const ours =
        before.user !== null &&
        (limit === before.nominal || limit === before.previous || limit === before.user);
      const known: RightSizeState = ours ? before : { ...INITIAL, user: limit, nominal: limit };
      const user = known.user ?? limit;
      const nominal = known.nominal ?? limit;
      const calls = activations + control.activations;

      let peak = recentPeak({ ...known, recent: [] }, constants.halfLife, now);
      let { recent } = known;
      if (calls > 0 && observation.peak.memory > 0) {
        peak = Math.max(peak, observation.peak.memory);
        recent = [...recent, observation.peak.memory].slice(-constants.recent);
      }
      let callsUntilFall = Math.max(0, known.callsUntilFall - calls);
      let needed = 0;
      if (oomKills > 0) {
        callsUntilFall = constants.callsAfterOom;
        // Above the user's limit only where that limit itself was too small.
        needed = limit >= user ? afterOom(limit) : user;
        // What the kill proves; at the user's limit so much that the larger size stands until the
        // peak has decayed.
        peak = Math.max(peak, limit >= user ? needed / (1 + constants.marginShare) : limit);
      }
      const state: RightSizeState = {
        ...known,
        user,
        nominal,
        peak,
        peakAt: now,
        recent,
        calls: known.calls + calls,
        callsUntilFall,
      };
      const highest = recentPeak(state, constants.halfLife, now);
      if (highest > 0) {
        const margin = Math.max(constants.marginShare * highest, constants.minMargin);
        // A margin alone is no reason to ask for more than the user did.
        needed = Math.max(
          needed,
          highest <= user ? Math.min(user, highest + margin) : highest + margin,
        );
      }
      const size = needed > 0 ? nominalSize(needed, user, constants) : nominal;
      const settled = known.changedAt === null || now - known.changedAt >= constants.hold;
      const mayFall = callsUntilFall === 0 && state.calls >= constants.callsBeforeFall && settled;
      const next = size > nominal || (size < nominal && mayFall) ? size : nominal;
      const changed = next !== nominal;
      return {
        state: changed
          ? { ...state, nominal: next, previous: nominal, changedAt: now, calls: 0 }
          : state,
        decision: {
          nominalMemory: next as Bytes,
          actions: [0, 0, Math.sign(next - nominal)],
        },
      };
    },
  };
}
