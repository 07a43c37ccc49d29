import type { FunctionState } from './function-state.js';
import type { CpuMode, DecisionSettings } from './settings.js';

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
/** Part that the newest run has in a function's mean weight factor. */
const NEWEST = 1 / 8;

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
