import type { Bytes, Millis } from '../../config/index.js';
import { memoryAfterOom, recommendedSize, rememberedPeak, SIZE_RULES } from '../../rules/index.js';
import type { ResourceManager } from '../resource-manager.js';

/** When the size of an action changes. Times in ms. */
export interface RightSizeConstants {
  /** Peaks halve in this time; for `gleaner actions follow` in a day. */
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

/** The newest 8 peaks count whole, as the hook's safeguard has it. */
export const RIGHT_SIZE_DEFAULT: RightSizeConstants = {
  halfLife: 3_600_000 as Millis,
  recent: 8,
  activationsBeforeFall: 100,
  hold: 30_000 as Millis,
  activationsAfterOom: 1000,
};

export interface RightSizeState {
  /** The user's own limit, bytes, not a size that this manager applied; null: no step yet. */
  readonly user: number | null;
  /** The size in force and the one before it, bytes. */
  readonly nominal: number | null;
  readonly previous: number | null;
  readonly changedAt: Millis | null;
  /** Highest memory seen, bytes. */
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

/**
 * OpenWhisk admits by nominal memory, so only a smaller `limits.memory` lets more warm containers
 * fit. The size is {@link recommendedSize}; it rises at once, and falls only after enough
 * activations and time. Hooks compensate the smaller CPU weight (`FunctionState.rightSizeFactor`).
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

      let peak = rememberedPeak(known.peak, now - known.peakAt, constants.halfLife, []);
      let { recent } = known;
      if (ended > 0 && observation.peak.memory > 0) {
        peak = Math.max(peak, observation.peak.memory);
        recent = [...recent, observation.peak.memory].slice(-constants.recent);
      }
      let activationsUntilFall = Math.max(0, known.activationsUntilFall - ended);
      if (oomKills > 0) {
        activationsUntilFall = constants.activationsAfterOom;
        // The kill proves a peak of this size; at a user limit below 400 MiB, one that keeps the
        // larger size until it has decayed.
        const proven = limit >= user ? memoryAfterOom(limit) / (1 + SIZE_RULES.marginShare) : limit;
        peak = Math.max(peak, proven);
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
      const highest = Math.max(peak, ...recent);
      const killedAt = oomKills > 0 ? limit : null;
      const size = highest > 0 ? recommendedSize(highest, user, killedAt, SIZE_RULES) : nominal;
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
