import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import { MAX_WEIGHT_FACTOR, MIN_WEIGHT_FACTOR } from '../settings.js';
import { lowestFactor } from '../weights.js';
import type { ActivationPolicy, PolicyContext } from './activation-policy.js';
import { GittinsPolicy, indexOf } from './gittins.js';

/**
 * An activation is in danger once its time left is below this multiple of the CPU time that it
 * probably still needs. Tuned on other functions and loads than docs/results/market.md shows.
 */
const DANGER = 8;

/**
 * `gittins`, times what the activation's objective asks for: the weight rises as the deadline comes
 * closer than `danger` times the remaining work, up to 16 times, and falls to a sixteenth once the
 * activation cannot be in time: its CPU then saves others. The floor of every weight holds, and
 * where others compete that are not managed also 16 as the highest factor.
 * Activations far from their deadline keep their weight, so no function pays for having a relaxed
 * objective. Without an objective: `gittins`.
 *
 * A cold start has less time than the objective says: its init is not counted.
 */
export class DeadlineFirstPolicy implements ActivationPolicy {
  readonly name = 'deadline-first';
  readonly kind = 'weight';
  readonly relative = true;
  readonly orders = true;
  readonly #gittins = new GittinsPolicy();
  readonly #danger: number;

  constructor(danger = DANGER) {
    this.#danger = danger;
  }

  choose(run: Run, _grant: Grant, context: PolicyContext): number {
    return this.revise(run, 0, context);
  }

  revise(run: Run, used: number, context: PolicyContext): number {
    const index = indexOf(run, used, context);
    const factor = this.#gittins.weigh(run, index, context);
    const urgency = this.#urgency(run, index, context);
    if (urgency === 1) return factor;
    const { highestFactor, settings } = context;
    const range = run.container.mode === 'weight' ? highestFactor : settings.weightClampHigh;
    const low = lowestFactor(run.fn, settings, range);
    return Math.min(highestFactor, Math.max(low, factor * urgency));
  }

  revisesAt(run: Run, used: number): number {
    return this.#gittins.revisesAt(run, used);
  }

  #urgency(run: Run, index: number, { objective, now }: PolicyContext): number {
    if (!(objective > 0) || !(index > 0)) return 1;
    const leftPerWork = (objective - (now - run.startedAt)) * index;
    if (leftPerWork < 1) return MIN_WEIGHT_FACTOR;
    return Math.min(MAX_WEIGHT_FACTOR, Math.max(1, this.#danger / leftPerWork));
  }
}
