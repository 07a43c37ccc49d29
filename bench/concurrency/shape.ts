import type { ProfileName } from './profiles.js';

/** Medians over rounds at one limit. */
export interface LimitFigures {
  readonly limit: number;
  readonly throughput: number;
  readonly success: number;
}

/** A published finding for a profile as a rule on the sweep; `seen`: the deciding figures. */
export interface ShapeVerdict {
  readonly holds: boolean;
  readonly rule: string;
  readonly seen: string;
}

const RISE = 4;
const FLAT = 1.25;
const FAILS = 0.9;

export const bestOf = (figures: readonly LimitFigures[]): LimitFigures =>
  figures.reduce((best, one) => (one.throughput > best.throughput ? one : best));

const share = (value: number): string => `${(100 * value).toFixed(0)} %`;

/** `figures` in ascending order of limits, the lowest first. */
export function shapeOf(
  profile: Exclude<ProfileName, 'mixed'>,
  figures: readonly LimitFigures[],
): ShapeVerdict {
  const best = bestOf(figures);
  const lowest = figures[0]!;
  const highest = figures.at(-1)!;
  const rates = figures.map(({ throughput }) => throughput);
  if (profile === 'prime') {
    const spread = Math.max(...rates) / Math.min(...rates);
    return {
      holds: spread <= FLAT,
      rule: `CPU alone: the best limit at most ${FLAT}x the worst`,
      seen: `${spread.toFixed(2)}x, best at ${best.limit}`,
    };
  }
  if (profile === 'sleep') {
    const rise = best.throughput / lowest.throughput;
    const top = rates.slice(-3);
    const flat = Math.max(...top) / Math.min(...top);
    return {
      holds: rise >= RISE && flat <= FLAT && best.limit > lowest.limit,
      rule:
        `waiting activations: the best limit at least ${RISE}x the lowest, ` +
        `the last three within ${FLAT}x`,
      seen: `${rise.toFixed(1)}x, best at ${best.limit}; the last three ${flat.toFixed(2)}x`,
    };
  }
  const failing = figures.find(({ success }) => !(success >= FAILS));
  return {
    holds:
      best.limit === lowest.limit &&
      lowest.success === 1 &&
      failing !== undefined &&
      highest.success < FAILS,
    rule:
      'memory alone: best at the lowest limit, where all succeed; ' +
      `above some limit more than ${share(1 - FAILS)} fail`,
    seen:
      `best at ${best.limit}, ${share(lowest.success)} succeed at ${lowest.limit}; ` +
      `fails from ${failing?.limit ?? 'none'} on, ` +
      `${share(highest.success)} succeed at ${highest.limit}`,
  };
}
