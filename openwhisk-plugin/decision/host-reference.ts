import type { FunctionState } from './function-state.js';
import { DecayingHistogram } from './statistics.js';

/** Half-lives after which the reference's weights are scaled back. */
const EPOCH = 64;

/**
 * What a host knows of the CPU times of all its functions.
 *
 * `value` is T_ref of the weight policies: the geometric mean of the functions' expected CPU times.
 * Each counts by the CPU time that it has used recently, which halves per half-life: many functions
 * that use hardly any CPU time must not pull it below those that compete for the CPU.
 */
export class HostReference {
  #sum = 0;
  #weight = 0;
  #epoch = 0;
  /**
   * CPU time of each function's first activation, ms: what to expect of functions not seen before.
   */
  readonly firstCpuTimes = new DecayingHistogram();

  /** Takes in a function's new expectation. */
  update(fn: FunctionState, now: number, halfLife: number): void {
    const expected = fn.expectedCpu.mean;
    if (!(expected > 0) || !Number.isFinite(expected)) return;
    // The mean of one.
    if (fn.cpuTime.count === 1) this.firstCpuTimes.add(expected, now, halfLife);
    const halves = now / halfLife;
    const epoch = Math.floor(halves / EPOCH);
    if (epoch > this.#epoch) {
      const scale = 2 ** (-EPOCH * (epoch - this.#epoch));
      this.#sum *= scale;
      this.#weight *= scale;
      this.#epoch = epoch;
    }
    this.remove(fn);
    fn.loggedCpu = Math.log(expected);
    fn.loggedWeight = fn.expectedCpu.weight * expected * 2 ** (halves - this.#epoch * EPOCH);
    fn.loggedEpoch = this.#epoch;
    this.#sum += fn.loggedWeight * fn.loggedCpu;
    this.#weight += fn.loggedWeight;
  }

  remove(fn: FunctionState): void {
    if (!(fn.loggedWeight > 0)) return;
    const weight = fn.loggedWeight * 2 ** (-EPOCH * (this.#epoch - fn.loggedEpoch));
    this.#sum -= weight * fn.loggedCpu;
    this.#weight -= weight;
    fn.loggedWeight = 0;
  }

  /** ms; NaN while nothing is known. */
  get value(): number {
    return this.#weight > 1e-12 ? Math.exp(this.#sum / this.#weight) : Number.NaN;
  }
}
