import type { Others } from '../broker/mean-field/index.js';
import type { Observation, PerResource } from '../broker/messages/index.js';
import type { Bytes, Millicores, Millis, Random } from '../config/index.js';

/** What a manager wishes for one function, per container; what is absent is no wish. */
export interface Decision {
  readonly cpu?: Millicores;
  readonly memory?: Bytes;
  /** Weight mode: multiplies the activation policy's weight. */
  readonly weightFactor?: number;
  readonly containers?: number;
  readonly concurrency?: number;
  /**
   * The action's `limits.memory`: what OpenWhisk admits by, where `memory` is a running container's
   * limit. A new one makes a new revision, so containers that exist keep theirs until they end
   * (design §3, memory).
   */
  readonly nominalMemory?: Bytes;
  /** Steps taken (containers, cpu, memory), -1, 0 or 1 each: what the mean field adds up. */
  readonly actions: readonly [number, number, number];
}

/** What a manager may look at. */
export interface View {
  readonly observation: Observation;
  /** Local features, each in [0, 1] (`features.ts`). */
  readonly features: readonly number[];
  /** The virtual agent; null without a mean field of late. */
  readonly others: Others | null;
  /** Congestion price of the observation's host; null without one. */
  readonly price: PerResource | null;
  readonly random: Random;
}

/** Most a function may be given, per container. */
export interface Cap {
  readonly cpu: Millicores;
  readonly memory: Bytes;
}

/** What a control step leaves behind. */
export interface Decided<State> {
  readonly state: State;
  readonly decision: Decision;
  /**
   * Of the step that this observation closed; absent where none did, or where the manager has none.
   */
  readonly reward?: number;
  /** Changes of the life-cycle phase, for people to be told of; absent where nothing changed. */
  readonly transitions?: readonly PhaseChange[];
}

export interface PhaseChange {
  readonly from: string;
  readonly to: string;
  /** With the figures that decided. */
  readonly reason: string;
}

/**
 * Decides at each control step of a function. Pure but for `view.random`: the function's state goes
 * in and comes out, so it can rest elsewhere, be replayed and be compared.
 */
export interface ResourceManager<State = unknown> {
  readonly name: string;
  initialState(fn: string): State;
  decide(state: State, view: View, now: Millis): Decided<State>;
  /** Life-cycle phase for inspection; `managing` for a manager that does not learn. */
  phase(state: State): string;
  /**
   * What of a function's state is worth taking along when it goes to another host or rests for
   * long: JSON, with ages for times, for another machine's clock means nothing. Absent, or null:
   * the function begins anew.
   */
  saveState?(state: State, now: Millis): unknown;
  /** What {@link rest} gave, checked; null where it cannot be used. */
  loadState?(fn: string, saved: unknown, now: Millis): State | null;
  /** Where a function stands in its phase and by which figures, for people. */
  about?(state: State): string;
  /** Begins to learn anew. Absent: it does not learn. */
  retrain?(state: State): State;
}
