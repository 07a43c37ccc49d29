import type { FunctionLateness } from '../broker/mean-field/index.js';
import { bucketMiddle, countWithout, type Observation } from '../broker/messages/index.js';
import type { Millis } from '../config/index.js';

/** Share of a count that is left after this long is 1 / e, ms. */
const MEMORY_MILLIS = 60_000;
/** Latencies within this factor of the objective are near it. */
const NEAR = Math.log(2);
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

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

const nothing = (): Mutable<Lateness> => ({
  seconds: 0,
  at: 0 as Millis,
  activations: 0,
  runSeconds: 0,
  atStake: 0,
  late: 0,
  hasObjective: false,
  isUrgent: false,
});

/**
 * After an observation. Cold starts do not count: no weight helps them. `into`: may be `before`;
 * thousands of agents keep one each.
 */
export function latenessAfter(
  before: Lateness | null,
  { latency, coldLatency, slo = Number.POSITIVE_INFINITY as Millis, span }: Observation,
  now: Millis,
  into: Lateness = nothing(),
): Lateness {
  const result = into as Mutable<Lateness>;
  const elapsed = Math.max(1, before === null ? span : now - before.at);
  const keep = Math.exp(-elapsed / MEMORY_MILLIS);
  const { first, counts } = latency;
  const sum = Math.max(0, latency.sum - (coldLatency?.sum ?? 0));
  let activations = (before?.activations ?? 0) * keep;
  let atStake = (before?.atStake ?? 0) * keep;
  let late = (before?.late ?? 0) * keep;
  for (let i = 0; i < counts.length; i++) {
    const count = countWithout(latency, coldLatency, i);
    if (count === 0) continue;
    const middle = bucketMiddle(first + i);
    activations += count;
    atStake += count * nearness(middle, slo);
    if (middle > slo) late += count;
  }
  const runSeconds = (before?.runSeconds ?? 0) * keep + sum / 1000;
  result.seconds = (before?.seconds ?? 0) * keep + elapsed / 1000;
  result.at = now;
  result.activations = activations;
  result.runSeconds = runSeconds;
  result.atStake = atStake;
  result.late = late;
  result.hasObjective = slo < Number.POSITIVE_INFINITY;
  result.isUrgent = slo * activations < 1000 * URGENT_BELOW * runSeconds;
  return result;
}

/** Triangular kernel over the logarithm of latency / objective: an estimate of its density at 0. */
function nearness(latency: number, slo: number): number {
  const distance = Math.abs(Math.log(latency / slo)) / NEAR;
  return distance < 1 ? (1 - distance) / NEAR : 0;
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
