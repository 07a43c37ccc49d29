import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import type { ActivationPolicy, PolicyContext } from './activation-policy.js';

/** Arrivals over which the mean distance is taken. */
const WINDOW = 100;
/** Slice until a window is known, ms, and the least one. */
const FIRST_SLICE = 20;
const MIN_SLICE = 6;
/**
 * Shares of a container that may use the whole host: an activation in its slice stands above all
 * that are past theirs.
 */
const FULL_HOST = 1024;

/**
 * SFS (Fu et al., SC'22; constants from their released scheduler, ds2-lab/SFS): every activation
 * begins in a real-time first-come class and leaves it for the fair scheduler once it has used a
 * slice of CPU = mean distance of the last 100 arrivals x cores; so short activations are done
 * before long ones share. Nothing need be known of a function.
 *
 * What weights express: an activation in its slice gets 16 x a whole host's shares (the clamp),
 * past it its container's own. What they cannot: the order of arrival within the class (all in it
 * share), strict priority, its queue and so the rule that one which waited longer than three slices
 * skips the class, and what is left of a slice over a wait for I/O (CPU time counts here, so
 * waiting costs none). On a real host a slice ends at the next sample, up to 100 ms late.
 */
export class SfsPolicy implements ActivationPolicy {
  readonly name = 'sfs';
  readonly kind = 'weight';
  readonly orders = true;
  readonly #arrivals = new Float64Array(WINDOW);
  #count = 0;

  choose(run: Run, _grant: Grant, context: PolicyContext): number {
    this.#arrivals[this.#count % WINDOW] = run.startedAt;
    this.#count++;
    return this.revise(run, 0, context);
  }

  revise(run: Run, used: number, context: PolicyContext): number {
    if (used >= this.slice(context.cores)) return 1;
    return (FULL_HOST * context.settings.weightClampHigh) / run.container.user.shares;
  }

  revisesAt(_run: Run, used: number, context: PolicyContext): number {
    const slice = this.slice(context.cores);
    return used < slice ? slice : Number.POSITIVE_INFINITY;
  }

  /** CPU time that an activation may use in the first class, ms. */
  slice(cores: number): number {
    if (this.#count < WINDOW) return FIRST_SLICE;
    const newest = this.#arrivals[(this.#count - 1) % WINDOW] as number;
    const oldest = this.#arrivals[this.#count % WINDOW] as number;
    return Math.max(MIN_SLICE, ((newest - oldest) / (WINDOW - 1)) * cores);
  }
}
