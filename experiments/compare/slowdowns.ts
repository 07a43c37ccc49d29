import {
  type ActivationRecorder,
  ClusterOutcome,
  ENOUGH,
  type SimulatedActivation,
  SLOW,
} from '../../simulator/engine/index.js';

/** Each bucket of slowdown is this much wider than the one below. */
const GROWTH = 1.05;
/** Slowdowns from 1 to 1.05^200 = 17,000 apart; the last bucket holds what is above. */
const BUCKETS = 200;
const LOG_GROWTH = Math.log(GROWTH);

/** Lower edges of the buckets. */
export const SLOWDOWN_EDGES: readonly number[] = Array.from(
  { length: BUCKETS },
  (_, i) => GROWTH ** i,
);

/** Counts by bucket, and the mean. */
class SlowdownCounts {
  readonly counts = new Float64Array(BUCKETS);
  #sum = 0;
  #count = 0;
  #slow = 0;

  add(slowdown: number): void {
    const bucket =
      slowdown <= 1 ? 0 : Math.min(BUCKETS - 1, Math.floor(Math.log(slowdown) / LOG_GROWTH));
    this.counts[bucket]!++;
    this.#sum += Math.max(1, slowdown);
    this.#count++;
    if (slowdown > SLOW) this.#slow++;
  }

  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }

  get slowShare(): number {
    return this.#count === 0 ? 0 : this.#slow / this.#count;
  }

  /** Within the 5 % of a bucket, by the logarithm inside it. */
  quantile(share: number): number {
    const targetCount = share * this.#count;
    let below = 0;
    for (let i = 0; i < BUCKETS; i++) {
      const here = this.counts[i]!;
      if (here > 0 && below + here >= targetCount)
        return GROWTH ** (i + (targetCount - below) / here);
      below += here;
    }
    return 0;
  }
}

/**
 * Slowdowns of successful activations against what the oracle would have made of the same ones: of
 * waiting for room and running (what managers decide about: who queues activations has less
 * contention, so the wait counts), and of the response with the start in it (what callers see: a
 * function of a millisecond that starts cold has a slowdown of hundreds, which hides everything
 * else in a mean).
 */
export class Slowdowns implements ActivationRecorder {
  readonly service = new SlowdownCounts();
  readonly response = new SlowdownCounts();
  /**
   * Largest lead of an activation over its contention-free duration, us: 0 except for rounding to
   * whole us.
   */
  mostAheadMicros = 0;
  /** Successful activations and the sum of their slowdown of waiting and running, per function. */
  readonly successes: Float64Array;
  readonly #sums: Float64Array;
  #soloMicros = 0;

  constructor(functions: number) {
    this.successes = new Float64Array(functions);
    this.#sums = new Float64Array(functions);
  }

  record(activation: SimulatedActivation): void {
    if (activation.outcome !== ClusterOutcome.success) return;
    const execution = activation.endedAt - activation.runAt;
    const waited = activation.placedAt - activation.arrivedAt;
    const slowdown = Math.max(1, (waited + execution) / activation.soloMicros);
    this.service.add(slowdown);
    this.response.add((activation.endedAt - activation.arrivedAt) / activation.soloMicros);
    this.mostAheadMicros = Math.max(this.mostAheadMicros, activation.soloMicros - execution);
    this.successes[activation.fn]!++;
    this.#sums[activation.fn]! += slowdown;
    this.#soloMicros += activation.soloMicros;
  }

  /** Mean response of the same activations had nothing stood in their way, ms. */
  get oracleMeanMs(): number {
    const count = this.successes.reduce((sum, one) => sum + one, 0);
    return count === 0 ? 0 : this.#soloMicros / count / 1000;
  }

  /** Mean slowdown of waiting and running per function; 0 without any. */
  get perFunction(): Float64Array {
    return this.#sums.map((sum, fn) => (this.successes[fn]! > 0 ? sum / this.successes[fn]! : 0));
  }

  /** Of the functions with enough activations for a mean. */
  get worstFunction(): number {
    return this.perFunction.reduce(
      (worst, one, fn) => (this.successes[fn]! >= ENOUGH ? Math.max(worst, one) : worst),
      0,
    );
  }
}

/** Share of activations slower than each edge. */
export function shareAbove(counts: ArrayLike<number>): number[] {
  let total = 0;
  for (let i = 0; i < counts.length; i++) total += counts[i]!;
  const shares: number[] = [];
  let left = total;
  for (let i = 0; i < counts.length; i++) {
    shares.push(total === 0 ? 0 : left / total);
    left -= counts[i]!;
  }
  return shares;
}
