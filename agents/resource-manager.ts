import type { Others } from '../broker/mean-field/index.js';
import type { MeanFieldHost, Observation, PerResource } from '../broker/messages/index.js';
import type { Bytes, Millicores, Millis, Random } from '../config/index.js';
import type { Lateness } from './lateness.js';

/** A manager's target for one function, per container; absent members set no target. */
export interface Decision {
  readonly cpu?: Millicores;
  readonly memory?: Bytes;
  /** Weight mode: multiplies the activation policy's weight. */
  readonly weightFactor?: number;
  readonly containers?: number;
  readonly concurrency?: number;
  /** The action's `limits.memory`; a new value is a new revision, and containers keep theirs. */
  readonly nominalMemory?: Bytes;
  /** Steps (containers, CPU, memory), -1, 0 or 1 each; the mean field sums them. */
  readonly actions: readonly [number, number, number];
}

/** The input of a decision. */
export interface View {
  readonly observation: Observation;
  /** Local features, each in [0, 1] (`features.ts`). */
  readonly features: readonly number[];
  /** All other agents as one virtual agent; null without a recent mean field. */
  readonly others: Others | null;
  /** Congestion price of the observation's host; null without one. */
  readonly price: PerResource | null;
  /** The observation's host in the mean field; null or absent without one. */
  readonly invoker?: MeanFieldHost | null;
  /** How late the function is, valid during the decision; absent where it is not measured. */
  readonly lateness?: Lateness;
  readonly random: Random;
}

/** Most a function may be given, per container. */
export interface Cap {
  readonly cpu: Millicores;
  readonly memory: Bytes;
}

/** The result of a control step. */
export interface Decided<State> {
  readonly state: State;
  readonly decision: Decision;
  /** The reward of the step that this observation closed; absent if it closed none. */
  readonly reward?: number;
  /** Changes of the life-cycle phase, published as events; absent without a change. */
  readonly transitions?: readonly PhaseChange[];
}

export interface PhaseChange {
  readonly from: string;
  readonly to: string;
  /** Includes the figures that caused the change. */
  readonly reason: string;
}

/**
 * Decides at each control step of a function. Pure except for `view.random`: the function's state
 * is an argument and a result, so that it can be suspended, replayed and compared.
 */
export interface ResourceManager<State = unknown> {
  readonly name: string;
  initialState(fn: string): State;
  decide(state: State, view: View, now: Millis): Decided<State>;
  /** Life-cycle phase for inspection; `managing` for a manager that does not learn. */
  phase(state: State): string;
  /**
   * The state to suspend or move to another host, as JSON; times are ages, because clocks of two
   * machines are not comparable. Absent or null: the function starts from scratch afterwards.
   */
  saveState?(state: State, now: Millis): unknown;
  /** Validates and restores what {@link saveState} returned; null if it is unusable. */
  loadState?(fn: string, saved: unknown, now: Millis): State | null;
  /** Describes a function's progress in its phase, with the figures behind it. */
  about?(state: State): string;
  /** Starts learning again. Absent if the manager does not learn. */
  retrain?(state: State): State;
}
