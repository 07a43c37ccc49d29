import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import type { ActivationPolicy, PolicyContext } from './activation-policy.js';
import { EQUAL_SHARES } from './formulas.js';

const BUCKETS = 128;
/** Lower end, ms, and growth of a bucket: to 0.1 x 1.15^128 = 5.9e6 ms. */
const SMALLEST = 0.1;
const LOG_GROWTH = Math.log(1.15);
/** Activations after which one counts half: the published program learns from the 2000 newest. */
const HALF_LIFE = 1000;
const GROWTH = 2 ** (1 / HALF_LIFE);
const LARGEST_WEIGHT = 2 ** 100;

/**
 * ALPS (Fu et al., ATC'24; constants from their released program, ds2-lab/ALPS): a simulation of
 * shortest remaining time first over the newest activations ranks functions by their mean CPU
 * burst; the kernel then runs the lower rank first, and in time slices that shrink with a
 * function's spread and with the load.
 *
 * What weights express: the rank. Here it is the share of recent activations that are of shorter
 * functions, and the factor runs from the upper clamp (the shortest) to the lower one (the longest)
 * on a logarithmic scale; an unknown function has an equal weight. What they cannot: strict
 * priority between ranks, time slices (the kernel's own stay), and so the simulation, which serves
 * to set those.
 */
export class AlpsPolicy implements ActivationPolicy {
  readonly name = 'alps';
  readonly kind = 'weight';
  readonly orders = true;
  readonly #activations = new Float64Array(BUCKETS);
  #total = 0;
  #weight = 1;

  choose(run: Run, _grant: Grant, { settings }: PolicyContext): number {
    // The users' memory does not count, as it does not in ALPS.
    const equal = EQUAL_SHARES / run.container.user.shares;
    const expected = run.fn.expectedCpu.mean;
    if (!(expected >= 0)) return equal;
    const bucket = bucketOf(expected);
    this.#count(bucket);
    const { weightClampLow: low, weightClampHigh: high } = settings;
    return equal * high * (low / high) ** this.#rank(bucket);
  }

  /** Share of the recent activations below; those of the same length count half. */
  #rank(bucket: number): number {
    let below = (this.#activations[bucket] as number) / 2;
    for (let i = 0; i < bucket; i++) below += this.#activations[i] as number;
    return below / this.#total;
  }

  #count(bucket: number): void {
    this.#weight *= GROWTH;
    this.#activations[bucket] = (this.#activations[bucket] as number) + this.#weight;
    this.#total += this.#weight;
    if (this.#weight < LARGEST_WEIGHT) return;
    for (let i = 0; i < BUCKETS; i++)
      this.#activations[i] = (this.#activations[i] as number) / this.#weight;
    this.#total /= this.#weight;
    this.#weight = 1;
  }
}

function bucketOf(time: number): number {
  if (!(time > SMALLEST)) return 0;
  return Math.min(BUCKETS - 1, Math.floor(Math.log(time / SMALLEST) / LOG_GROWTH));
}
