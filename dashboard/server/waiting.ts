import type { Waiting } from '../wire.js';

/** What one step of one function took of the cores and waited for them, ms of the host's clock. */
export interface Turn {
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
const TURNS_MAX = 20_000;

/**
 * Who waits for whom on one host. The kernel says how long a function waited, not for whom: its wait is charged to those who
 * ran at the time, each by the CPU it used. That is exact where the waiting is spread evenly over the window, and an estimate
 * otherwise; the page says so.
 */
export class WaitingDesk {
  readonly #turns: Turn[] = [];
  readonly #windowMillis: number;

  /** `windowMillis`: of our own clock. */
  constructor(windowMillis: number) {
    this.#windowMillis = windowMillis;
  }

  take(turn: Turn): void {
    this.#forget(turn.at);
    this.#turns.push(turn);
  }

  /** Whether anybody looks or not. */
  #forget(now: number): void {
    let over = Math.max(0, this.#turns.length - TURNS_MAX);
    while (over < this.#turns.length && this.#turns[over]!.at < now - this.#windowMillis) over++;
    if (over > 0) this.#turns.splice(0, over);
  }

  /** Of the time that functions were runnable, the share that they waited for a CPU; null: unknown, or nothing ran. */
  share(now: number): number | null {
    this.#forget(now);
    let waited = 0;
    let ran = 0;
    for (const turn of this.#turns) {
      if (turn.waited === null) continue;
      waited += turn.waited;
      ran += turn.ran;
    }
    return waited + ran > 0 ? waited / (waited + ran) : null;
  }

  view(host: string, now: number, most: number): Waiting {
    this.#forget(now);
    const sums = new Map<string, { waited: number; ran: number; throttled: number; span: number }>();
    for (const turn of this.#turns) {
      const sum = sums.get(turn.function) ?? { waited: 0, ran: 0, throttled: 0, span: 0 };
      sum.waited += turn.waited ?? 0;
      sum.ran += turn.ran;
      sum.throttled += turn.throttled;
      sum.span += turn.span;
      sums.set(turn.function, sum);
    }
    const order = [...sums].sort(([, a], [, b]) => b.waited + b.throttled - (a.waited + a.throttled) || b.ran - a.ran);
    const shown = order.slice(0, most);
    const allRan = order.reduce((sum, [, { ran }]) => sum + ran, 0);
    return {
      host,
      span: order.reduce((longest, [, { span }]) => Math.max(longest, span), 0) / 1000,
      names: shown.map(([name]) => name),
      matrix: shown.map(([waiter, { waited, ran }]) =>
        shown.map(([runner, other]) => charge(waited, waiter === runner, other.ran, allRan, ran)),
      ),
      waited: shown.map(([, { waited }]) => waited),
      ran: shown.map(([, { ran }]) => ran),
      throttled: shown.map(([, { throttled }]) => throttled),
    };
  }
}

/** A function waits for its own other activations only where nobody else ran. */
function charge(waited: number, same: boolean, otherRan: number, allRan: number, ownRan: number): number {
  const others = allRan - ownRan;
  if (others <= 0) return same ? waited : 0;
  return same ? 0 : (waited * otherRan) / others;
}
