import type { FunctionState } from '../../function-state.js';
import type { DecisionSettings } from '../../settings.js';
import { DecayingMean } from '../../statistics.js';
import type { PolicyContext } from '../activation-policy.js';

/** An hour in ms; times and gaps beyond it look alike. */
const LONGEST = 3_600_000;
const LOG_LONGEST = Math.log1p(LONGEST);
/** Activations in an hour, of a function activated a thousand times a second. */
const LOG_MOST_ACTIVATIONS = Math.log1p(LONGEST);
/** An amount of 8 x the user's is 1, of an eighth -1: the published simulator's range. */
const OCTAVES = 3;

/*
 * The published inputs are raw megabytes and milliseconds, on which a tanh saturates. Here each
 * lies in [-1, 1], and amounts are relative to the user's, so that one network serves all
 * functions. Unknown is 0.
 */

/** ms on a logarithmic scale. */
export const durationFeature = (ms: number): number =>
  ms > 0 ? Math.min(1, Math.log1p(ms) / LOG_LONGEST) : 0;

/** Activations per second on a logarithmic scale. */
export const rateFeature = (perSecond: number): number =>
  perSecond > 0 ? Math.min(1, Math.log1p(3600 * perSecond) / LOG_MOST_ACTIVATIONS) : 0;

/** An amount of CPU or memory against the user's, in octaves. */
export function amountFeature(amount: number, user: number): number {
  const octaves = Math.log2(amount / user) / OCTAVES;
  return Number.isNaN(octaves) ? 0 : Math.min(1, Math.max(-1, octaves));
}

/** A part of a whole. */
export const shareFeature = (part: number, whole: number): number =>
  part > 0 && whole > 0 ? Math.min(1, part / whole) : 0;

/**
 * What is remembered of one function beside its `FunctionState`: means, where the safeguard needs
 * maxima.
 */
export class FunctionStatistics {
  readonly gap = new DecayingMean();
  readonly cpuPeak = new DecayingMean();
  readonly memoryPeak = new DecayingMean();
  #first = Number.NaN;
  /** The function's activations before, under another policy. */
  #before = 0;

  /** An activation starts; `fn.lastStart` is still the one before. */
  started(fn: FunctionState, now: number, { halfLife }: DecisionSettings): void {
    if (Number.isNaN(this.#first)) {
      this.#first = now;
      this.#before = fn.started;
    }
    const gap = now - fn.lastStart;
    // Of positive gaps only: several activations at once are one arrival.
    if (fn.started > 0 && gap > 0) this.gap.add(gap, now, halfLife);
  }

  /** Activations per second since the first that this policy has seen. */
  rate(fn: FunctionState, now: number): number {
    const span = now - this.#first;
    return span > 0 ? (1000 * (fn.started - this.#before)) / span : 0;
  }
}

/** What is read of an activation; millicores and bytes. */
interface Starting {
  readonly fn: FunctionState;
  readonly cpu: { readonly user: number };
  readonly memory: { readonly user: number };
}

/** Fills the nine. */
export function fillState(
  into: Float32Array,
  { fn, cpu, memory }: Starting,
  statistics: FunctionStatistics,
  { host, cores }: Pick<PolicyContext, 'host' | 'cores'>,
  now: number,
): void {
  into[0] = shareFeature(host.running, host.running + cores);
  into[1] = shareFeature(host.freeCpu, 1);
  into[2] = shareFeature(host.freeMemory, 1);
  into[3] = durationFeature(statistics.gap.mean);
  into[4] = rateFeature(statistics.rate(fn, now));
  into[5] = amountFeature(statistics.cpuPeak.mean, cpu.user);
  into[6] = amountFeature(statistics.memoryPeak.mean, memory.user);
  into[7] = durationFeature(fn.duration.mean);
  into[8] = durationFeature(fn.control.mean);
}
