import { type FunctionState, UNPROVEN_MIN_FACTOR } from './function-state.js';
import type { CpuMode, DecisionSettings } from './settings.js';
import { DecayingHistogram } from './statistics.js';

/** Range of a cgroup v1 weight; Docker refuses others. */
export const MIN_SHARES = 2;
export const MAX_SHARES = 262_144;

/** A whole number of shares the kernel takes; NaN if the request is not a number. */
export function clampShares(shares: number): number {
  return Math.min(MAX_SHARES, Math.max(MIN_SHARES, Math.round(shares)));
}
/** An agent multiplies the weight of the policy by 1/4 to 4. */
const TARGET_FACTOR = 4;
/** Measured: docs/decisions/0014-range-and-reference.md. */
const WIDE_FLOOR = 8;
/** Half-lives after which the reference's weights are scaled back. */
const EPOCH = 64;
/** Runs of either arm before alpha may change: fewer say nothing. */
export const BOUND_RUNS_NEEDED = 20;
export const BOUND_CONTROL_NEEDED = 10;
const ALPHA_FALL = 0.75;
const ALPHA_RISE = 0.05;
/** Part that the newest run has in a function's mean weight factor. */
const NEWEST = 1 / 8;
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

/** clamp((reference / expected)^alpha, low, high); NaN where one is unknown. */
export function shortFirstFactor(
  expected: number,
  reference: number,
  alpha: number,
  low: number,
  high: number,
): number {
  if (!(expected > 0) || !(reference > 0)) return Number.NaN;
  const factor = (reference / expected) ** alpha;
  return Math.min(high, Math.max(low, factor));
}

interface Run {
  readonly fn: FunctionState;
  readonly container: { readonly mode: CpuMode };
}

/**
 * The least factor of an activation where the range goes up to `highest`: higher until its
 * function's control arm shows that it slows down little. Beyond the clamp the floor rises too, to
 * the own weight of a function that is not proven: the shortest stand far enough above it.
 */
export function lowestFactor(
  { minWeightFactor }: FunctionState,
  { weightClampLow, weightClampHigh }: DecisionSettings,
  highest: number,
): number {
  const wide = highest > weightClampHigh ? WIDE_FLOOR : 1;
  return Math.max(minWeightFactor, weightClampLow) * wide;
}

/** A function's alpha; without a quota the whole one where its own would lower the weight. */
export const exponentOf = (
  { fn, container }: Run,
  settings: DecisionSettings,
  ratio: number,
): number =>
  ratio >= 1 && container.mode === 'weight' ? settings.alpha : Math.min(fn.alpha, settings.alpha);

/** Takes the weight of a managed run over its neutral weight into the function's mean. */
export function observeWeight(fn: FunctionState, ratio: number): void {
  if (ratio > 0 && Number.isFinite(ratio)) fn.weightFactor *= (ratio / fn.weightFactor) ** NEWEST;
}

/** The agent's CPU target against the user's CPU, within x1/4..x4; 1 without a target. */
export function targetFactor(target: number, user: number): number {
  const factor = target / user;
  if (!(target > 0) || !Number.isFinite(target) || !(factor > 0)) return 1;
  return Math.min(TARGET_FACTOR, Math.max(1 / TARGET_FACTOR, factor));
}

/** Own shares x factor, in the kernel's range. Not finite or not positive: its own shares. */
export function scaleShares(own: number, factor: number): number {
  if (!(factor > 0) || !Number.isFinite(factor)) return own;
  return clampShares(own * factor);
}

interface Weighed {
  readonly user: { readonly shares: number };
  readonly fn: FunctionState | null;
}

/** What the container's user paid for in shares, x a factor. */
export const ownWeight = ({ user, fn }: Weighed, factor: number): number =>
  scaleShares(user.shares, (fn?.rightSizeFactor ?? 1) * factor);

/**
 * The figure that the slowdown bound acts on: mean run time since alpha or the floor last changed,
 * over the mean of the control arm. Means are arithmetic, so that a few long runs count in full;
 * the slowdown that is shown compares geometric means. NaN with too few runs of either arm.
 */
export function meanTimeRatio({ sinceAlpha, control }: FunctionState): number {
  return sinceAlpha.count < BOUND_RUNS_NEEDED || control.weight < BOUND_CONTROL_NEEDED
    ? Number.NaN
    : sinceAlpha.ratioTo(control);
}

/** Below the neutral weight that control activations have; beside a quota below its own. */
export const isDeprioritized = (fn: FunctionState): boolean => fn.weightFactor < 1;

/**
 * Bounds the run times of deprioritized functions. If the mean-time ratio of one is above
 * `slowdownBound`, its alpha falls by a quarter and its floor is that of a function that is not
 * proven; well within the bound both recover. Each step is judged by later runs only.
 */
export function adjustWeightExponent(fn: FunctionState, settings: DecisionSettings): void {
  if (fn.alpha > settings.alpha) fn.alpha = settings.alpha;
  if (fn.sinceAlpha.count < BOUND_RUNS_NEEDED) return;
  const deprioritized = isDeprioritized(fn);
  const ratio = meanTimeRatio(fn);
  if (deprioritized && ratio > settings.slowdownBound) {
    fn.alpha = fn.alpha < 0.05 ? 0 : fn.alpha * ALPHA_FALL;
    fn.minWeightFactor = UNPROVEN_MIN_FACTOR;
    fn.sinceAlpha.forget();
  } else if (!deprioritized || ratio < (1 + settings.slowdownBound) / 2) {
    const lower = deprioritized && fn.minWeightFactor > settings.weightClampLow;
    if (!lower && fn.alpha >= settings.alpha) return;
    fn.alpha = Math.min(settings.alpha, fn.alpha + ALPHA_RISE);
    if (lower) fn.minWeightFactor = Math.max(settings.weightClampLow, fn.minWeightFactor / 2);
    fn.sinceAlpha.forget();
  }
}
