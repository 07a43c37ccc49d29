import type { ContentionView } from '../wire.js';

/** CPU time and CPU wait of one step of one function, ms of the host's clock. */
export interface CpuStep {
  readonly at: number;
  readonly function: string;
  /** Runnable without a CPU; null: the kernel does not measure it. */
  readonly waited: number | null;
  readonly ran: number;
  /** Throttled by its own quota, so no other function caused it. */
  readonly throttled: number;
  readonly span: number;
}

/** A host is contended from this share of CPU wait on, whatever is asked of it. */
const CONTENDED_SHARE = 0.1;
/** If more is asked of it than it has, from this share on. Below, nothing waits worth a word. */
const NOTABLE_SHARE = 0.01;

/** `waitShare`: CPU wait / (CPU wait + CPU time), null if it is not measured. */
export const isContended = (waitShare: number | null, demand: number, available: number): boolean =>
  waitShare !== null && waitShare >= (demand > available ? NOTABLE_SHARE : CONTENDED_SHARE);

/** Steps kept of one host; of more steps per minute the newest are kept. */
const STEPS_MAX = 20_000;

/**
 * Which function waits for which on one host. The kernel measures how long a function waited, not
 * for which other function, so the wait is attributed to the functions that ran at the time, in
 * proportion to their CPU time. That is exact if waiting is spread evenly over the window, and an
 * estimate otherwise.
 */
export class ContentionWindow {
  readonly #steps: CpuStep[] = [];
  readonly #windowMillis: number;

  /** `windowMillis`: of the dashboard's clock. */
  constructor(windowMillis: number) {
    this.#windowMillis = windowMillis;
  }

  take(step: CpuStep): void {
    this.#forget(step.at);
    this.#steps.push(step);
  }

  #forget(now: number): void {
    let over = Math.max(0, this.#steps.length - STEPS_MAX);
    while (over < this.#steps.length && this.#steps[over]!.at < now - this.#windowMillis) over++;
    if (over > 0) this.#steps.splice(0, over);
  }

  /** CPU wait / (CPU wait + CPU time); null: not measured, or nothing ran. */
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

/** A function waits for its own other activations only if no other function ran. */
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
