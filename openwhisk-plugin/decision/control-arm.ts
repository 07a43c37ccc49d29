import { comparisonOf, comparisonSums } from '../../rules/index.js';
import type { FunctionState } from './function-state.js';
import type { DecisionSettings } from './settings.js';
import { DecayingHistogram } from './statistics.js';

/** Classes by the decade of the mean duration: below 10 ms, … , 1000 s and more. */
const CLASSES = 7;
/** Samples of its own that weigh as much as the class. */
const SHRINKAGE = 20;
/** p95 / mean where not even the class is known: exponential durations have ln 20 = 3. */
const UNKNOWN_RATIO = 3;
const CLASS_SAMPLES = 20;
/** The nearest rank of a p99 of fewer activations is the slowest of them. */
export const JUDGED_ACTIVATIONS = 100;
/** Histograms begin at .1: ratios are kept in thousandths. */
const RATIO_SCALE = 1000;
/** Growth of an arm without samples. Its runs are slow: a larger one would set the p99. */
const EXTRA_SHARE = 1;
/** An alarm needs these samples in each arm, this ratio, and these standard errors. */
const ALARM_SAMPLES = 30;
const ALARM_LOG_RATIO = Math.log(1.05);
const ALARM_ERRORS = 3;

/** Share of a function's activations: `controlShare`, up to twice that while samples are few. */
export function controlShare(fn: FunctionState, settings: DecisionSettings): number {
  if (!fn.controlArm) return 0;
  const missing = Math.max(0, 1 - fn.control.count / settings.controlSamples);
  return Math.min(1, settings.controlShare * (1 + EXTRA_SHARE * missing));
}

/** What can be said of a function against its objective. */
export type ObjectiveVerdict = 'learning' | 'kept' | 'missed';

/** Shapes of the control arms' durations by class, and the objectives derived from them. */
export class Objectives {
  readonly #classes: DecayingHistogram[] = Array.from(
    { length: CLASSES },
    () => new DecayingHistogram(),
  );

  /** A control run's duration, ms; the function's arm has it already. */
  learn(fn: FunctionState, duration: number, now: number, halfLife: number): void {
    const mean = fn.control.mean;
    if (mean > 0) this.#classOf(mean).add((RATIO_SCALE * duration) / mean, now, halfLife);
  }

  /**
   * Objective of a warm activation, ms: configured, else `sloFactor` x p99 of the control arm's
   * warm activations. NaN: not known yet.
   */
  slo(fn: FunctionState, settings: DecisionSettings): number {
    if (fn.configuredSlo > 0) return fn.configuredSlo;
    const { warm } = fn.control;
    return warm.count >= settings.controlSamples
      ? settings.sloFactor * warm.percentile(0.99)
      : Number.NaN;
  }

  /** For agents, which cannot wait: few samples give a p95 shrunk towards the function's class. */
  provisionalSlo(fn: FunctionState, settings: DecisionSettings): number {
    const known = this.slo(fn, settings);
    if (known > 0) return known;
    const arm = fn.control;
    const { warm } = arm;
    if (warm.count === 0) return Number.NaN;
    const shape = this.#classOf(arm.mean);
    const ratio =
      shape.count >= CLASS_SAMPLES ? shape.percentile(0.95) / RATIO_SCALE : UNKNOWN_RATIO;
    const shrunk =
      (warm.count * warm.percentile(0.95) + SHRINKAGE * ratio * arm.mean) /
      (warm.count + SHRINKAGE);
    return settings.sloFactor * shrunk;
  }

  /** Whether `p99`, ms, of `activations` warm activations keeps the objective. */
  verdict(
    fn: FunctionState,
    settings: DecisionSettings,
    p99: number,
    activations: number,
  ): ObjectiveVerdict {
    const slo = this.slo(fn, settings);
    if (activations < JUDGED_ACTIVATIONS || Number.isNaN(slo)) return 'learning';
    return p99 <= slo ? 'kept' : 'missed';
  }

  #classOf(mean: number): DecayingHistogram {
    const decade = Math.floor(Math.log10(Math.max(1, mean)) + 1e-9);
    return this.#classes[Math.min(CLASSES - 1, decade)] as DecayingHistogram;
  }
}

/** Alarm: managed activations are slower than the control arm, by more than 5 % beyond chance. */
export function slowerThanControl(fn: FunctionState): boolean {
  return isAlarming([fn]);
}

/** The same over all functions together: the same figure that people are shown as the verdict. */
export function hostSlowerThanControl(functions: Iterable<FunctionState>): boolean {
  return isAlarming(functions);
}

function isAlarming(functions: Iterable<FunctionState>): boolean {
  const comparison = comparisonOf(comparisonSums(withEnoughSamples(functions)), ALARM_SAMPLES);
  if (!comparison.known) return false;
  const { logRatio, standardError } = comparison;
  return logRatio > ALARM_LOG_RATIO && logRatio > ALARM_ERRORS * standardError;
}

function* withEnoughSamples(functions: Iterable<FunctionState>): IterableIterator<FunctionState> {
  for (const fn of functions)
    if (fn.managed.weight >= ALARM_SAMPLES && fn.control.weight >= ALARM_SAMPLES) yield fn;
}
