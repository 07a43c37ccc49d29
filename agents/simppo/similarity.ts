import type { Observation } from '../../broker/messages/index.js';
import { MIB } from '../../config/index.js';
import { clip } from '../features.js';

/** A function's profile, each number about 0..1, a mean over its steps; instead of an embedding. */
export type Profile = readonly number[];

const SMOOTHING = 0.1;
/** Largest root mean square distance at which a similar policy is the better start. */
const NEAR = 0.15;

/** Null: no activation ended in the step. */
export function profileOf({
  latency,
  used,
  user,
  throttledShare,
  cpuMode,
  activations,
  span,
}: Observation): Profile | null {
  const count = latency.counts.reduce((sum, one) => sum + one, 0);
  if (count === 0) return null;
  return [
    // 1 ms to 1000 s.
    clip(Math.log10(Math.max(1, latency.sum / count)) / 6),
    clip(user.cpu > 0 ? used.cpu / user.cpu / 2 : 0),
    clip(user.memory > 0 ? used.memory / user.memory : 0),
    // 64 MiB to 2 GiB.
    clip(Math.log2(Math.max(1, user.memory / MIB / 64)) / 5),
    // To 1000 a second.
    clip(Math.log10(1 + (span > 0 ? (1000 * activations) / span : 0)) / 3),
    clip(throttledShare),
    cpuMode === 'weight' ? 1 : 0,
  ];
}

export function blend(before: Profile, now: Profile | null): Profile {
  if (now === null) return before;
  if (before.length !== now.length) return now;
  return before.map((value, i) => value + SMOOTHING * (now[i]! - value));
}

const distance = (a: Profile, b: Profile): number =>
  a.length === b.length
    ? Math.sqrt(a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0) / a.length)
    : Number.POSITIVE_INFINITY;

/** The nearest of those near enough; undefined: none is. */
export function nearest<T>(
  to: Profile,
  candidates: Iterable<readonly [Profile, T]>,
): T | undefined {
  let best: T | undefined;
  let least = NEAR;
  for (const [profile, candidate] of candidates) {
    const away = distance(to, profile);
    if (to.length === 0 || away >= least) continue;
    least = away;
    best = candidate;
  }
  return best;
}
