import { bucketBound, type LatencyHistogramMessage } from '../../broker/messages/index.js';

interface StepObjective {
  readonly at: number;
  readonly kept: number;
  readonly activations: number;
}

/**
 * Activations of a step within the objective. The bucket that contains the objective counts in
 * proportion to its part below.
 */
export function keptActivations({ first, counts }: LatencyHistogramMessage, slo: number): number {
  let kept = 0;
  for (const [i, n] of counts.entries()) {
    const index = first + i;
    const upper = bucketBound(index);
    const lower = index === 0 ? 0 : bucketBound(index - 1);
    kept += n * Math.min(1, Math.max(0, (slo - lower) / (upper - lower)));
  }
  return kept;
}

/** Share of activations within their function's objective, over a window. */
export class ObjectiveWindow {
  readonly #steps: StepObjective[] = [];
  readonly #windowMillis: number;

  constructor(windowMillis: number) {
    this.#windowMillis = windowMillis;
  }

  take(at: number, latency: LatencyHistogramMessage, slo: number): void {
    const activations = latency.counts.reduce((sum, n) => sum + n, 0);
    if (activations > 0) this.#steps.push({ at, kept: keptActivations(latency, slo), activations });
  }

  view(now: number): { share: number | null; activations: number } {
    while (this.#steps.length > 0 && this.#steps[0]!.at < now - this.#windowMillis)
      this.#steps.shift();
    let kept = 0;
    let activations = 0;
    for (const step of this.#steps) {
      kept += step.kept;
      activations += step.activations;
    }
    return { share: activations === 0 ? null : kept / activations, activations };
  }
}
