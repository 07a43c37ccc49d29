import { LEVELS } from '../../../../rules/index.js';

/** Options of both resources together. */
export const OPTIONS = LEVELS * LEVELS;

/** Below this share of its lower end a range is one amount. */
const NARROW = 1e-6;

/**
 * Writes the amounts of [lower, upper], both ends among them, and returns how many. `unit` > 0:
 * whole steps of it from the lower end (the published presets); 0: eight in equal steps.
 */
export function fillAmounts(
  into: Float64Array,
  lower: number,
  upper: number,
  unit: number,
): number {
  into[0] = lower;
  const span = upper - lower;
  if (!(span > NARROW * lower)) return 1;
  if (unit > 0) {
    const steps = Math.min(LEVELS - 1, Math.floor(span / unit + NARROW));
    for (let i = 1; i <= steps; i++) into[i] = lower + i * unit;
    return steps + 1;
  }
  for (let i = 1; i < LEVELS; i++) into[i] = lower + (span * i) / (LEVELS - 1);
  return LEVELS;
}
