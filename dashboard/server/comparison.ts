import { CONTROL_SAMPLES_NEEDED, type Comparison } from '../../rules/index.js';
import type { ComparisonView } from '../wire.js';
import { rounded } from './series.js';

/** A comparison as it is sent to the page: rounded, null while control samples are missing. */
export function comparisonView(comparison: Comparison): ComparisonView {
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
