import { type Random, SeededRandom } from '../../config/index.js';
import type { ActivationBlock, ActivationStream, StreamedFunction } from './activation-stream.js';
import { normalQuantile, quantile } from './distribution.js';

/** Quantiles of a function's CPU work that its location and spread are taken from. */
const POINTS = 199;
/**
 * Payloads spread as widely as 12 benchmarks' do at most (profiles-12): a body is up to 16 times
 * the median in one of a thousand.
 */
const SPREAD = 0.9;
/**
 * Work that varies by less than this (standard deviation of its logarithm) has nothing that a size
 * could tell.
 */
const VARIES = 1e-3;

/**
 * The same activations with the same demand, whose bodies tell something of it: ln(size) has
 * correlation `told` with ln(CPU work), within each function. 0: sizes vary and say nothing; 1:
 * they say all. What a recording without sizes (Azure's) cannot tell is assumed here, and varied.
 */
export class PayloadStream implements ActivationStream {
  readonly functions: readonly StreamedFunction[];
  readonly spanMicros: number;
  readonly expectedActivations: number;
  readonly #activations: ActivationStream;
  readonly #correlation: number;
  readonly #noiseShare: number;
  readonly #random: Random;
  /** By function: mean and standard deviation of ln(CPU work, ms). */
  readonly #center: Float64Array;
  readonly #spread: Float64Array;

  constructor(activations: ActivationStream, correlation: number, seed: number) {
    if (!(correlation >= 0 && correlation <= 1))
      throw new RangeError('a correlation lies between 0 and 1');
    this.functions = activations.functions;
    this.spanMicros = activations.spanMicros;
    this.expectedActivations = activations.expectedActivations;
    this.#activations = activations;
    this.#correlation = correlation;
    this.#noiseShare = Math.sqrt(1 - correlation * correlation);
    this.#random = new SeededRandom(seed).fork('payloads');
    this.#center = new Float64Array(activations.functions.length);
    this.#spread = new Float64Array(activations.functions.length);
    activations.functions.forEach(({ profile }, index) => {
      const logs = Array.from({ length: POINTS }, (_, i) =>
        Math.log(Math.max(1e-6, quantile(profile.cpuMs, (i + 0.5) / POINTS))),
      );
      const center = logs.reduce((sum, value) => sum + value, 0) / POINTS;
      this.#center[index] = center;
      this.#spread[index] = Math.sqrt(
        logs.reduce((sum, value) => sum + (value - center) ** 2, 0) / POINTS,
      );
    });
  }

  fill(block: ActivationBlock): number {
    const count = this.#activations.fill(block);
    for (let i = 0; i < count; i++) {
      const fn = block.fn[i]!;
      const spread = this.#spread[fn]!;
      const noise = normalQuantile(Math.min(1 - 1e-9, Math.max(1e-9, this.#random.next())));
      const work =
        spread > VARIES
          ? (Math.log(Math.max(1e-6, block.cpu[i]! / 1000)) - this.#center[fn]!) / spread
          : 0;
      block.payload[i] = Math.exp(SPREAD * (this.#correlation * work + this.#noiseShare * noise));
    }
    return count;
  }
}
