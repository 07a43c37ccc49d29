/**
 * Compares run times of managed activations with those of the control arm, whose random activations
 * run at user limits.
 *
 * Each stratum is one function on one host, so that different functions are never compared with
 * each other. A stratum's difference is that of the mean logarithms, d = mean ln(managed) - mean
 * ln(control). Strata are pooled with weights w = n1 n2 / (n1 + n2), those of a regression with one
 * constant per stratum; they depend on counts only, so noise in the data cannot shift the estimate:
 *
 *   d = Σ w d / Σ w      variance = Σ w² (s1² / n1 + s2² / n2) / (Σ w)²
 *
 * The interval is Student's with Satterthwaite's degrees of freedom, exp(d ± t √variance): the
 * ratio of geometric means.
 */
import { studentQuantile } from './student.js';

/** Samples that still count; mean and population variance of the logarithms of their run times. */
export interface ArmSummary {
  readonly weight: number;
  readonly logMean: number;
  readonly logVariance: number;
}

export interface ArmPair {
  readonly managed: ArmSummary;
  readonly control: ArmSummary;
}

/** What strata add up to. Sums of several hosts or functions may be added field by field. */
export interface ComparisonSums {
  /** Σ w */
  readonly weight: number;
  /** Σ w d */
  readonly difference: number;
  /** Σ w² s² / n over both arms, and the sum of each term's square over n - 1. */
  readonly variance: number;
  readonly varianceSquares: number;
  readonly activations: number;
  readonly controlSamples: number;
}

export type Comparison =
  | { readonly known: false; readonly controlSamples: number; readonly needed: number }
  | {
      readonly known: true;
      /** Managed run time over the control arm's: below 1 is faster. With its 95 % interval. */
      readonly ratio: number;
      readonly low: number;
      readonly high: number;
      readonly logRatio: number;
      readonly standardError: number;
      readonly activations: number;
      readonly controlSamples: number;
    };

/** Below this many control samples no figure is shown. */
export const CONTROL_SAMPLES_NEEDED = 20;
/** With fewer, Student's quantile is almost infinite. */
const MIN_DEGREES_OF_FREEDOM = 3;

export const noComparison: ComparisonSums = {
  weight: 0,
  difference: 0,
  variance: 0,
  varianceSquares: 0,
  activations: 0,
  controlSamples: 0,
};

/** Strata in which one arm has fewer than two samples have no variance and are left out. */
export function comparisonSums(pairs: Iterable<ArmPair>): ComparisonSums {
  const sums = { ...noComparison };
  for (const { managed, control } of pairs) {
    const [n, m] = [managed.weight, control.weight];
    // Weights decay: two samples taken one after the other count a little less than two.
    if (!(n > 1.5) || !(m > 1.5)) continue;
    const w = (n * m) / (n + m);
    sums.weight += w;
    sums.difference += w * (managed.logMean - control.logMean);
    for (const { weight, logVariance } of [managed, control]) {
      // Population variance / (n - 1) = sample variance / n.
      const term = (w * w * logVariance) / (weight - 1);
      sums.variance += term;
      sums.varianceSquares += (term * term) / (weight - 1);
    }
    sums.activations += n;
    sums.controlSamples += m;
  }
  return sums;
}

export function addComparisons(all: Iterable<ComparisonSums>): ComparisonSums {
  const sums = { ...noComparison };
  for (const one of all)
    for (const key of Object.keys(sums) as (keyof ComparisonSums)[]) sums[key] += one[key];
  return sums;
}

export function comparisonOf(sums: ComparisonSums, needed = CONTROL_SAMPLES_NEEDED): Comparison {
  const { weight, difference, variance, varianceSquares } = sums;
  // Rounded: of 20 samples that were taken one after the other a little less than 20 counts.
  const controlSamples = Math.round(sums.controlSamples);
  const freedom =
    varianceSquares > 0 ? (variance * variance) / varianceSquares : Number.POSITIVE_INFINITY;
  if (controlSamples < needed || !(weight > 0) || freedom < MIN_DEGREES_OF_FREEDOM)
    return { known: false, controlSamples: Math.min(controlSamples, needed - 1), needed };
  const logRatio = difference / weight;
  const standardError = Math.sqrt(variance) / weight;
  const away = studentQuantile(freedom) * standardError;
  return {
    known: true,
    ratio: Math.exp(logRatio),
    low: Math.exp(logRatio - away),
    high: Math.exp(logRatio + away),
    logRatio,
    standardError,
    activations: Math.round(sums.activations),
    controlSamples,
  };
}

/** One comparison over several views: of a function on several hosts, or of several hosts. */
export const comparisonOver = (
  views: readonly { readonly comparison?: ComparisonSums }[],
): Comparison => comparisonOf(addComparisons(views.map((view) => view.comparison ?? noComparison)));
