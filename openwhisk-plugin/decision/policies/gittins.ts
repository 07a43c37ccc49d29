import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import { exponentOf, lowestFactor, targetFactor } from '../weights.js';
import type { ActivationPolicy, PolicyContext } from './activation-policy.js';

/**
 * Weights go with the square of the index: their ratio is only a share, and a plain ratio leaves
 * long activations too much of the CPU.
 */
const EXPONENT = 2;
/** CPU time between two revisions: the sampler's period, and a step that a weight follows. */
const LEAST_STEP = 100;
const STEP = 1.15;
/** The last part of a predicted CPU time, which is never quite right. */
const LEAST_REMAINING = 0.02;
/** From this number of activations on a function's histogram is enough. */
const KNOWN = 20;

/**
 * Rank by attained service: of activations whose lengths are known as distributions, the mean
 * response time is least if the one with the highest index runs [Gittins]. The index is the best
 * ratio, over all slices, of the chance to end within the slice to the time that it takes; it
 * follows from the function's histogram of CPU times (a new function: from that of all functions'
 * first activations) and the CPU time that this activation has had. Weight = own x
 * clamp((reference x index)^2), up to 4096 if no container competes that is not managed: a lower
 * clamp would treat all functions below the reference alike.
 *
 * What weights cannot: strict priority. On a real host a weight follows up to a sampling period
 * late.
 */
export class GittinsPolicy implements ActivationPolicy {
  readonly name = 'gittins';
  readonly kind = 'weight';
  readonly relative = true;
  readonly orders = true;

  choose(run: Run, _grant: Grant, context: PolicyContext): number {
    return this.revise(run, 0, context);
  }

  revise(run: Run, used: number, context: PolicyContext): number {
    return this.weigh(run, indexOf(run, used, context), context);
  }

  /** @param index of the activation ({@link indexOf}), 1/ms */
  weigh(run: Run, index: number, context: PolicyContext): number {
    const { container, targetCpu, cpu } = run;
    const factor = this.#factor(run, index, context);
    // Beside a quota the target is an amount of CPU.
    return container.mode === 'weight' ? factor * targetFactor(targetCpu, cpu.user) : factor;
  }

  revisesAt(_run: Run, used: number): number {
    return Math.max(used + LEAST_STEP, used * STEP);
  }

  #factor(run: Run, index: number, context: PolicyContext): number {
    const { reference, settings, highestFactor } = context;
    if (!(reference > 0)) return Number.NaN;
    const ratio = reference * index;
    const exponent = EXPONENT * exponentOf(run, settings, ratio);
    // The same, without the cost of a power: most exponents are 2.
    const factor = exponent === 2 ? ratio * ratio : ratio ** exponent;
    if (!(factor > 0)) return Number.NaN;
    const low = lowestFactor(run.fn, settings, highestFactor);
    return Math.min(highestFactor, Math.max(low, factor));
  }
}

/**
 * Gittins index of the activation after `used` ms of CPU time, 1/ms: of its own predicted CPU time
 * if there is one, else of the function's histogram. Where that is of n < 20 activations, the next
 * one is like other functions' first ones with a chance of 1 / (1 + n): a short activation of a
 * function that was long so far would else wait for thousands of times its length. NaN: nothing is
 * known.
 */
export function indexOf(
  { fn, expectedCpu }: Run,
  used: number,
  { firstCpuTimes }: PolicyContext,
): number {
  if (expectedCpu > used) return 1 / Math.max(expectedCpu - used, expectedCpu * LEAST_REMAINING);
  const own = fn.cpuTime.gittinsIndex(used);
  const { count } = fn.cpuTime;
  if (count >= KNOWN) return own;
  const others = firstCpuTimes.gittinsIndex(used) / (1 + count);
  return count === 0 || others > own ? others : own;
}
