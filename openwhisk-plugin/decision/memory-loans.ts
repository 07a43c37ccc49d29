import { type Bytes, memoryAfterOom } from '../../config/index.js';
import { holdLoan } from './choice.js';
import type { ContainerState } from './container-state.js';
import type { FunctionState } from './function-state.js';
import type { MemoryHeadroom } from './headroom.js';
import type { DecisionSettings } from './settings.js';

/**
 * Memory above the user's limit, lent from physical headroom for a container's life (policy
 * `guarantee`); kept in `container.memoryLoan`.
 */
export class MemoryLoans {
  readonly #headroom: MemoryHeadroom;

  constructor(headroom: MemoryHeadroom) {
    this.#headroom = headroom;
  }

  /**
   * Asks for more where the function needs it. Returns all that is lent to the container, bytes; 0
   * = none.
   *
   * @param ceiling largest limit that the groups over the container leave it; asked only if there
   * is memory to lend
   */
  lend(
    container: ContainerState,
    fn: FunctionState,
    settings: DecisionSettings,
    ceiling: () => number = () => Number.POSITIVE_INFINITY,
  ): Bytes {
    const user = container.user.memory;
    if (fn.memoryPolicy !== 'guarantee' || !(user > 0) || container.concurrent || !fn.hitUserLimit)
      return container.memoryLoan;
    const cap = Math.max(settings.memoryCap, user);
    const asked =
      Math.min(cap, Math.max(fn.memoryAfterOom, Math.ceil(memoryAfterOom(user)))) -
      user -
      container.memoryLoan;
    // The ceiling is read from files of the groups: not while an activation waits and there is
    // nothing to lend anyway.
    const isPossible = asked > 0 && this.#headroom.free > 0;
    const demand = isPossible ? Math.min(asked, ceiling() - user - container.memoryLoan) : 0;
    if (demand > 0) {
      const lent = this.#headroom.lend(demand as Bytes, settings.memoryUnit);
      container.memoryLoan = (container.memoryLoan + lent) as Bytes;
      if (lent > 0) for (const run of container.runs) holdLoan(run);
    }
    return container.memoryLoan;
  }

  /** A previous daemon lent it and the container still has it: it must not be lent twice. */
  found(container: ContainerState, amount: Bytes): void {
    this.#headroom.take(amount);
    container.memoryLoan = (container.memoryLoan + amount) as Bytes;
  }

  /** The container ended. */
  end(container: ContainerState): void {
    this.#headroom.release(container.memoryLoan);
    container.memoryLoan = 0 as Bytes;
  }
}
