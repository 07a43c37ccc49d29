import type { ContentionView } from '../wire.js';

/** What one step of one function took of the cores and waited for them, ms of the host's clock. */
export interface CpuStep {
  readonly at: number;
  readonly function: string;
  /** Runnable without a CPU; null: the kernel does not say. */
  readonly waited: number | null;
  readonly ran: number;
  /** Held back by its own quota: nobody else's doing. */
  readonly throttled: number;
  readonly span: number;
}

/** Of one host; more steps a minute than these are told by the newest of them. */
const STEPS_MAX = 20_000;

/**
 * Who waits for whom on one host. The kernel says how long a function waited, not for whom: its
 * wait is charged to those who ran at the time, each by the CPU it used. That is exact where the
 * waiting is spread evenly over the window, and an estimate otherwise; the page says so.
 */
export class ContentionWindow {
  readonly #steps: CpuStep[] = [];
  readonly #windowMillis: number;

  /** `windowMillis`: of our own clock. */
  constructor(windowMillis: number) {
    this.#windowMillis = windowMillis;
  }

  take(step: CpuStep): void {
    this.#forget(step.at);
    this.#steps.push(step);
  }

  /** Whether anybody looks or not. */
  #forget(now: number): void {
    let over = Math.max(0, this.#steps.length - STEPS_MAX);
    while (over < this.#steps.length && this.#steps[over]!.at < now - this.#windowMillis) over++;
    if (over > 0) this.#steps.splice(0, over);
  }

  /**
   * Of the time that functions were runnable, the share that they waited for a CPU; null: unknown,
   * or nothing ran.
   */
  share(now: number): number | null {
    this.#forget(now);
    let waited = 0;
    let ran = 0;
    for (const step of this.#steps) {
      if (step.waited === null) continue;
      waited += step.waited;
      ran += step.ran;
    }
    return waited + ran > 0 ? waited / (waited + ran) : null;
  }

  view(host: string, now: number, maxFunctions: number): ContentionView {
    this.#forget(now);
    const sums = new Map<
      string,
      { waited: number; ran: number; throttled: number; span: number }
    >();
    for (const step of this.#steps) {
      const sum = sums.get(step.function) ?? { waited: 0, ran: 0, throttled: 0, span: 0 };
      sum.waited += step.waited ?? 0;
      sum.ran += step.ran;
      sum.throttled += step.throttled;
      sum.span += step.span;
      sums.set(step.function, sum);
    }
    const order = [...sums].sort(
      ([, a], [, b]) => b.waited + b.throttled - (a.waited + a.throttled) || b.ran - a.ran,
    );
    const shown = order.slice(0, maxFunctions);
    const allRan = order.reduce((sum, [, { ran }]) => sum + ran, 0);
    return {
      host,
      span: order.reduce((longest, [, { span }]) => Math.max(longest, span), 0) / 1000,
      names: shown.map(([name]) => name),
      matrix: shown.map(([waitingFunction, { waited, ran }]) =>
        shown.map(([runningFunction, other]) =>
          waitCausedBy(waited, waitingFunction === runningFunction, other.ran, allRan, ran),
        ),
      ),
      waited: shown.map(([, { waited }]) => waited),
      ran: shown.map(([, { ran }]) => ran),
      throttled: shown.map(([, { throttled }]) => throttled),
    };
  }
}

/** A function waits for its own other activations only where nobody else ran. */
function waitCausedBy(
  waited: number,
  same: boolean,
  otherRan: number,
  allRan: number,
  ownRan: number,
): number {
  const others = allRan - ownRan;
  if (others <= 0) return same ? waited : 0;
  return same ? 0 : (waited * otherRan) / others;
}
