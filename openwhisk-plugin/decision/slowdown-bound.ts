import { type FunctionState, UNPROVEN_MIN_FACTOR } from './function-state.js';
import type { DecisionSettings } from './settings.js';

/** Runs of either arm before alpha may change: fewer say nothing. */
export const BOUND_RUNS_NEEDED = 20;
export const BOUND_CONTROL_NEEDED = 10;
const ALPHA_FALL = 0.75;
const ALPHA_RISE = 0.05;

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
