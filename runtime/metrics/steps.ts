import type { DurationHistogram } from '../../config/index.js';
import type { MetricSet } from './metric-set.js';

export function updateSteps(
  set: MetricSet,
  histograms: Readonly<Record<string, DurationHistogram>>,
): void {
  for (const [step, durations] of Object.entries(histograms))
    set.histogram('gleaner_loop_step_duration_seconds', durations, { step });
}
