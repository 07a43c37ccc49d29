import type { Bytes } from '../../config/index.js';
import { memoryAfterOom } from '../../rules/index.js';
import { holdLoan } from './choice.js';
import type { ContainerState, Run } from './container-state.js';
import type { FunctionState } from './function-state.js';
import type { MemoryHeadroom } from './headroom.js';
import type { DecisionSettings } from './settings.js';

/**
 * What a loan to a smaller action counts until it is used: after n activations the next one needs
 * more than all before with probability 1 / (n + 1), and sizes follow at least three.
 */
const UNUSED_SHARE = 1 / 4;

/**
 * Memory above the container's limit, lent from physical headroom (policy `guarantee`) and kept in
 * `container.memoryLoan`. A function that has met its user's limit keeps it for the container's
 * life. An action that Gleaner made smaller is lent the difference while it runs: its size counts
 * for admission, and an unexpected peak is no OOM kill.
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
    if (fn.memoryPolicy !== 'guarantee' || !(user > 0) || container.concurrent || !fn.mayBorrow)
      return container.memoryLoan;
    const own = Math.round(user * fn.rightSizeFactor);
    const afterOom = fn.hitUserLimit
      ? Math.max(fn.memoryAfterOom, Math.ceil(memoryAfterOom(user)))
      : 0;
    const cap = Math.max(settings.memoryCap, own);
    const asked = Math.min(cap, Math.max(own, afterOom)) - user - container.memoryLoan;
    // The ceiling is read from files of the groups: not while an activation waits and there is
    // nothing to lend anyway.
    const isPossible = asked > 0 && this.#headroom.free > 0;
    const demand = isPossible ? Math.min(asked, ceiling() - user - container.memoryLoan) : 0;
    if (demand > 0) {
      const share = fn.hitUserLimit ? 1 : UNUSED_SHARE;
      const { memoryUnit } = settings;
      const charge = this.#headroom.lend((share * demand) as Bytes, (share * memoryUnit) as Bytes);
      container.memoryLoan = (container.memoryLoan + charge / share) as Bytes;
      container.chargedLoan = (container.chargedLoan + charge) as Bytes;
      if (charge > 0) for (const run of container.runs) holdLoan(run);
    }
    return container.memoryLoan;
  }

  /**
   * Takes back what a smaller action was lent and has not used; what it used stays for the
   * container's life. Call it when the run is over; true: write the limit again.
   */
  takeBack({ fn, container, memory: { peak } }: Run): boolean {
    const { memoryLoan } = container;
    if (memoryLoan === 0 || fn.hitUserLimit || fn.rightSizeFactor <= 1) return false;
    if (container.runs.length > 0 || !(peak >= 0)) return false;
    const used = Math.ceil(Math.min(memoryLoan, Math.max(0, peak - container.user.memory)));
    this.end(container);
    this.found(container, used as Bytes);
    return used < memoryLoan;
  }

  /** The container has it already, and it may be in use: it must not be lent twice. */
  found(container: ContainerState, amount: Bytes): void {
    this.#headroom.take(amount);
    container.memoryLoan = (container.memoryLoan + amount) as Bytes;
    container.chargedLoan = (container.chargedLoan + amount) as Bytes;
  }

  /** The container ended. */
  end(container: ContainerState): void {
    this.#headroom.release(container.chargedLoan);
    container.memoryLoan = 0 as Bytes;
    container.chargedLoan = 0 as Bytes;
  }
}
