import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import { exponentOf, lowestFactor, shortFirstFactor, targetFactor } from '../weights.js';
import type { ActivationPolicy, PolicyContext } from './activation-policy.js';

/**
 * Size-based processor sharing by cgroup weights: own shares x clamp((T_ref / expected CPU
 * time)^alpha), times the agent's factor. The expectation is this activation's if the size of its
 * body predicts better than the function's mean (`PayloadEstimate`). `alpha` here is a ceiling;
 * each function's own falls while it slows down too much.
 */
export class ShortFirstPolicy implements ActivationPolicy {
  readonly name = 'short-first';
  readonly kind = 'weight';
  readonly relative = true;
  readonly orders = true;
  readonly #alpha: number;

  constructor(alpha = Number.POSITIVE_INFINITY) {
    this.#alpha = alpha;
  }

  choose(run: Run, grant: Grant, context: PolicyContext): number {
    const settings = context.settings;
    const fn = run.fn;
    const low = lowestFactor(fn, settings, settings.weightClampHigh);
    const expected = run.expectedCpu >= 0 ? run.expectedCpu : fn.expectedCpu.mean;
    const alpha = Math.min(exponentOf(run, settings, context.reference / expected), this.#alpha);
    const factor = shortFirstFactor(
      expected,
      context.reference,
      alpha,
      low,
      settings.weightClampHigh,
    );
    // Beside a quota the target is an amount of CPU.
    return run.container.mode === 'weight'
      ? factor * targetFactor(run.targetCpu, grant.user)
      : factor;
  }
}
