import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import { MAX_SHARES, MIN_SHARES } from '../weights.js';
import type { ActivationPolicy, PolicyContext } from './activation-policy.js';

/**
 * A run that is asked about again when half of its work is left: its weight is then four times as
 * large.
 */
const ASK_AGAIN = 0.5;
/** Less work than this, ms, is at the top of the kernel's range anyway. */
const MIN = 0.1;
/**
 * Shares of a run with so much work left as the host's reference: the middle of the kernel's range
 * on a logarithmic scale.
 */
const MIDDLE = Math.sqrt(MIN_SHARES * MAX_SHARES);

/**
 * A bound, not for hosts: shortest remaining processing time first, the best order for mean
 * response time on one core (Schrage 1968), with the true remaining work that only a simulator's
 * oracle knows. On a real host it refuses, so containers keep their own weights. shares = middle of
 * the kernel's range x (reference / remaining)^2, whatever the user asked for. Modeled (weighted
 * max-min sharing, 9 functions of 15 ms to 3 s with equal work, 2 cores, load .8, three seeds):
 * mean slowdown 1.12,
 * 1.09, 1.13 with exponents 1, 2, 4 (the range is too narrow for more), `short-first` 1.15. What
 * weights cannot express: strict priority. A longer run keeps a part of the CPU, at most 2 /
 * 262144.
 */
export class ShortestRemainingFirstPolicy implements ActivationPolicy {
  readonly name = 'shortest-remaining-first';
  readonly kind = 'weight';
  readonly orders = true;
  readonly #exponent: number;

  constructor(exponent = 2) {
    this.#exponent = exponent;
  }

  choose(run: Run, _grant: Grant, context: PolicyContext): number {
    return this.#factor(run, context);
  }

  revise(run: Run, _used: number, context: PolicyContext): number {
    return this.#factor(run, context);
  }

  revisesAt(run: Run, used: number, context: PolicyContext): number {
    const remaining = context.oracle.remainingCpu(run);
    return remaining > MIN ? used + remaining * ASK_AGAIN : Number.POSITIVE_INFINITY;
  }

  #factor(run: Run, { oracle, reference }: PolicyContext): number {
    const remaining = oracle.remainingCpu(run);
    if (!(remaining >= 0)) return Number.NaN;
    // Before the host knows a reference any will do: only the runs' order counts. 100 ms is in the
    // range of most.
    const middle = reference > 0 ? reference : 100;
    const shares = MIDDLE * (middle / Math.max(MIN, remaining)) ** this.#exponent;
    return Math.min(MAX_SHARES, Math.max(MIN_SHARES, shares)) / run.container.user.shares;
  }
}
