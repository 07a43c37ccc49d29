import {
  addComparisons,
  CONTROL_SAMPLES_NEEDED,
  type ComparisonSums,
  comparisonOf,
  secondsUntilKnown,
  verdictText,
} from '../../config/index.js';
import type { ComparisonView, Verdict } from '../wire.js';
import { rounded } from './series.js';

/** Of one function on several hosts, or of several hosts. */
export function comparisonView(all: Iterable<ComparisonSums>): ComparisonView {
  const comparison = comparisonOf(addComparisons(all));
  if (!comparison.known)
    return {
      ratio: null,
      low: null,
      high: null,
      activations: 0,
      controlSamples: comparison.controlSamples,
      needed: comparison.needed,
    };
  const { ratio, low, high, activations, controlSamples } = comparison;
  return {
    ratio: rounded(ratio),
    low: rounded(low),
    high: rounded(high),
    activations,
    controlSamples,
    needed: CONTROL_SAMPLES_NEEDED,
  };
}

/**
 * `upSeconds`: of the hook that has run for longest; undefined: unknown. `enforced`: limits are
 * written somewhere.
 */
export function verdictOf(
  all: readonly ComparisonSums[],
  upSeconds: number | undefined,
  enforced: boolean,
): Verdict {
  const view = comparisonView(all);
  return {
    ...view,
    text: verdictText(comparisonOf(addComparisons(all)), upSeconds, enforced),
    expectedSeconds:
      view.ratio === null && enforced
        ? secondsUntilKnown(view.controlSamples, view.needed, upSeconds)
        : null,
  };
}
