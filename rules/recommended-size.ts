import { mebibytes } from '../config/index.js';
import { memoryAfterOom } from './oom.js';
import { OPENWHISK_MEMORY } from './openwhisk.js';

/** Sizes and margin of an action's nominal memory, bytes. */
export interface SizeRules {
  /** Sizes are least + k × step up to most: OpenWhisk's default limits in the units of [FaaSRM]. */
  readonly least: number;
  readonly most: number;
  readonly step: number;
  /** Margin above the peak: the larger of a share and an amount. The share is the hook's own. */
  readonly marginShare: number;
  readonly minMargin: number;
}

export const SIZE_RULES: SizeRules = {
  ...OPENWHISK_MEMORY,
  step: mebibytes(64),
  marginShare: 0.25,
  minMargin: mebibytes(32),
};

/**
 * A peak that halves in `halfLife` ms, `age` ms after it was known, but never below the newest: a
 * rare function keeps its peak.
 */
export const rememberedPeak = (
  peak: number,
  age: number,
  halfLife: number,
  newest: readonly number[],
): number => Math.max(peak * 2 ** (-Math.max(0, age) / halfLife), ...newest);

/** Smallest size that holds `bytes`; sizes continue above `most` up to the user limit. */
export function smallestSize(
  bytes: number,
  user: number,
  { least, most, step }: SizeRules,
): number {
  const ceiling = Math.max(most, user);
  const size = least + Math.max(0, Math.ceil((bytes - least) / step)) * step;
  // The user limit is a size too: rounding up must not exceed it.
  if (bytes <= user && size > user) return user;
  return Math.min(ceiling, size);
}

/**
 * The least size that holds a remembered peak and its margin, bytes. A margin or an OOM kill below
 * the user limit asks for that limit at most; a kill at it, or a peak above it, for more.
 * `killedAt`: limit of an OOM kill that no larger limit has followed.
 */
export function recommendedSize(
  peak: number,
  user: number,
  killedAt: number | null,
  rules: SizeRules,
): number {
  const padded = peak + Math.max(rules.marginShare * peak, rules.minMargin);
  const held = peak <= user ? Math.min(user, padded) : padded;
  const afterOom = killedAt === null ? 0 : killedAt >= user ? memoryAfterOom(killedAt) : user;
  return smallestSize(Math.max(afterOom, held), user, rules);
}
