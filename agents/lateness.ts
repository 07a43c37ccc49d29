import type { FunctionLateness } from '../broker/mean-field/index.js';
import { bucketMiddle, type Observation, withoutPart } from '../broker/messages/index.js';
import type { Millis } from '../config/index.js';

/** Share of a count that is left after this long is 1 / e, ms. */
const MEMORY_MILLIS = 60_000;
/** Latencies within this factor of the objective are near it. */
const NEAR = 2;
/** An objective below this multiple of the mean latency is urgent. */
const URGENT_BELOW = 4;

/** How late a function is and how late it could become; decaying counts over `seconds`. */
export interface Lateness {
  /** Seconds that count, and the time of the newest observation. */
  readonly seconds: number;
  readonly at: Millis;
  readonly activations: number;
  /** Seconds in which an activation ran. */
  readonly runSeconds: number;
  /** Activations near their objective: a small change of speed makes them late or saves them. */
  readonly atStake: number;
  readonly late: number;
  readonly hasObjective: boolean;
  readonly isUrgent: boolean;
}

const NOTHING: Pick<Lateness, 'seconds' | 'activations' | 'runSeconds' | 'atStake' | 'late'> = {
  seconds: 0,
  activations: 0,
  runSeconds: 0,
  atStake: 0,
  late: 0,
};

/** After an observation. Cold starts do not count: no weight helps them. */
export function latenessAfter(
  before: Lateness | null,
  { latency, coldLatency, slo = Number.POSITIVE_INFINITY as Millis, span }: Observation,
  now: Millis,
): Lateness {
  const old = before ?? NOTHING;
  const elapsed = Math.max(1, before === null ? span : now - before.at);
  const keep = Math.exp(-elapsed / MEMORY_MILLIS);
  const { first, counts, sum } = withoutPart(latency, coldLatency);
  let activations = old.activations * keep;
  let atStake = old.atStake * keep;
  let late = old.late * keep;
  for (let i = 0; i < counts.length; i++) {
    const count = counts[i]!;
    if (count === 0) continue;
    const middle = bucketMiddle(first + i);
    activations += count;
    atStake += count * nearness(middle, slo);
    if (middle > slo) late += count;
  }
  const runSeconds = old.runSeconds * keep + sum / 1000;
  return {
    seconds: old.seconds * keep + elapsed / 1000,
    at: now,
    activations,
    runSeconds,
    atStake,
    late,
    hasObjective: slo < Number.POSITIVE_INFINITY,
    isUrgent: slo * activations < 1000 * URGENT_BELOW * runSeconds,
  };
}

/** Triangular kernel over the logarithm of latency / objective: an estimate of its density at 0. */
function nearness(latency: number, slo: number): number {
  const distance = Math.abs(Math.log(latency / slo)) / Math.log(NEAR);
  return distance < 1 ? (1 - distance) / Math.log(NEAR) : 0;
}

/** The function's part of the mean field, per second. */
export function latenessOf(lateness: Lateness): FunctionLateness {
  const { seconds, runSeconds, atStake, late, isUrgent } = lateness;
  return {
    objective: isUrgent ? 'urgent' : 'patient',
    running: runSeconds / seconds,
    atStake: atStake / seconds,
    late: late / seconds,
  };
}
