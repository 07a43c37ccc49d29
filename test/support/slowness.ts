/**
 * How much longer tests may take on a slow machine: `GLEANER_TEST_SLOWNESS`, which `npm test`
 * measures if it is not set; 1 without both. It
 * stretches deadlines, and intervals only where something must have happened within them.
 */
const slowness = Math.max(1, Number(process.env.GLEANER_TEST_SLOWNESS ?? 1) || 1);

/** A deadline on this machine; whole, as Node takes no other timeouts of child processes. */
export const allowed = (millis: number): number => Math.ceil(millis * slowness);
