import { openWorkload, type Part, shippedSplit } from '../../simulator/workload/index.js';

/** Functions with fewer active minutes of 60, or fewer activations per minute, have no pattern. */
const MINUTES_CALLED = 40;
const LEAST_A_MINUTE = 2;
/** Standard deviation / mean of a minute's activations: below, it is a timer's even beat. */
const LEAST_VARIATION = 0.05;

/**
 * Minutes that a rate is taken over. The sample's functions are called some ten times a minute; the
 * protocol's some thousand times. A count of ten is off from its rate by a third (Poisson), one of
 * a thousand is not, so the counts' noise must not be scaled up with them.
 */
const SMOOTHED = 5;

/** An hour of one Azure function, as a multiple of its own mean, minute by minute. */
export type Shape = readonly number[];

const shapes = new Map<Part, readonly Shape[]>();

/**
 * Shapes of arrivals from the trace's sample, by the shipped split of its functions: what is
 * trained on is met in no test. Only functions with a pattern of minutes: called in 40 of 60, twice
 * a minute on average, and not evenly.
 */
export function azureShapes(part: Part): readonly Shape[] {
  let found = shapes.get(part);
  if (found === undefined) {
    const names = new Set(shippedSplit('azure-sample').functions[part]);
    const { workload } = openWorkload('azure-sample');
    found = workload.functions.flatMap(({ name, arrivals }) => {
      if (!names.has(name.slice(name.lastIndexOf('/') + 1)) || !('perMinute' in arrivals))
        return [];
      const { perMinute } = arrivals;
      const mean = perMinute.reduce((sum, one) => sum + one, 0) / perMinute.length;
      const deviation = Math.sqrt(
        perMinute.reduce((sum, one) => sum + (one - mean) ** 2, 0) / perMinute.length,
      );
      const called = perMinute.filter((one) => one > 0).length;
      if (called < MINUTES_CALLED || mean < LEAST_A_MINUTE || deviation < LEAST_VARIATION * mean)
        return [];
      return [smoothed(perMinute).map((one) => one / mean)];
    });
    shapes.set(part, found);
  }
  return found;
}

/** Moving average over `SMOOTHED` minutes, round the hour's end. */
const smoothed = (perMinute: readonly number[]): number[] =>
  perMinute.map((_, minute) => {
    let sum = 0;
    for (let k = 0; k < SMOOTHED; k++)
      sum += perMinute[(minute + k - (SMOOTHED >> 1) + perMinute.length) % perMinute.length]!;
    return sum / SMOOTHED;
  });
