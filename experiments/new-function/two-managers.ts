import type { Decided, PhaseChange, ResourceManager, View } from '../../agents/index.js';
import type { Millis } from '../../config/index.js';

/** What the new function's manager did. */
export interface PhaseLog {
  /** When its phase changed, ms of simulated time. */
  readonly changes: { readonly at: number; readonly change: PhaseChange }[];
  /** Decisions by phase. */
  readonly decisions: Record<string, number>;
}

/**
 * One function under a manager of its own, all others under another, each with its own state; and a
 * log of the one.
 */
export class TwoManagers implements ResourceManager {
  /** Not `fixed`: the simulator would leave out targets. */
  readonly name = 'two-managers';
  readonly log: PhaseLog = { changes: [], decisions: {} };
  readonly #newFunction: string;
  readonly #its: ResourceManager;
  readonly #others: ResourceManager;

  constructor(newFunction: string, its: ResourceManager, others: ResourceManager) {
    this.#newFunction = newFunction;
    this.#its = its;
    this.#others = others;
  }

  initialState(fn: string): unknown {
    return (fn === this.#newFunction ? this.#its : this.#others).initialState(fn);
  }

  decide(state: unknown, view: View, now: Millis): Decided<unknown> {
    if (view.observation.function !== this.#newFunction)
      return this.#others.decide(state, view, now);
    const decided = this.#its.decide(state, view, now);
    const phase = this.#its.phase(decided.state);
    this.log.decisions[phase] = (this.log.decisions[phase] ?? 0) + 1;
    for (const change of decided.transitions ?? []) this.log.changes.push({ at: now, change });
    return decided;
  }

  phase(): string {
    return 'managing';
  }
}
