import { bucketBound, LATENCY_BUCKETS } from '../../broker/messages/index.js';
import type { Window } from './function-queue.js';

/** Steps in the window of a tail latency: three of 10 s [AWARE artifact]. */
const STEPS = 3;
/** With fewer samples the largest stands for the 99th percentile. */
const SAMPLES = 20;

/** Response times of a function's last steps. */
export class ResponseWindow {
  readonly #counts = Array.from({ length: STEPS }, () => new Int32Array(LATENCY_BUCKETS));
  readonly #most = new Float64Array(STEPS);
  readonly #total = new Float64Array(STEPS);
  #next = 0;

  clear(): void {
    for (const counts of this.#counts) counts.fill(0);
    this.#most.fill(0);
    this.#total.fill(0);
  }

  add({ responses, responseMax, ended, killed, lost }: Window): void {
    this.#counts[this.#next]!.set(responses);
    this.#most[this.#next] = killed + lost > 0 ? bucketBound(LATENCY_BUCKETS - 1) : responseMax;
    this.#total[this.#next] = ended + killed + lost;
    this.#next = (this.#next + 1) % STEPS;
  }

  get samples(): number {
    return this.#total[0]! + this.#total[1]! + this.#total[2]!;
  }

  /**
   * p99 over the steps looked back on, ms, as `LatencyHistogram` has it: the middle of its bucket;
   * 0 without a sample.
   */
  get tail(): number {
    const { samples } = this;
    if (samples === 0) return 0;
    const most = Math.max(this.#most[0]!, this.#most[1]!, this.#most[2]!);
    if (samples < SAMPLES) return most;
    // From the top down: there is little above it.
    let above = samples - Math.max(1, Math.ceil(0.99 * samples - 1e-9));
    const [a, b, c] = this.#counts;
    for (let i = LATENCY_BUCKETS - 1; i > 0; i--) {
      above -= a![i]! + b![i]! + c![i]!;
      if (above < 0) return i === LATENCY_BUCKETS - 1 ? most : Math.min(most, bucketBound(i - 0.5));
    }
    return Math.min(most, bucketBound(0));
  }
}
