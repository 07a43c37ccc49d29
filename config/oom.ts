import { MIB } from './units.js';

/** Bump after an OOM kill: 20 % or 100 MiB, whichever is larger, as in [VPA]. */
const OOM_BUMP_RATIO = 1.2;
const MIN_OOM_BUMP = 100 * MIB;
/** The managers' figures in docs/results and the shipped meta-learner rest on 100 MB. */
const MIN_MANAGER_OOM_BUMP = 100e6;

/** The memory that an OOM kill at this limit asks for in the hook, bytes. */
export const memoryAfterOom = (limit: number, minBump = MIN_OOM_BUMP): number =>
  Math.max(limit * OOM_BUMP_RATIO, limit + minBump);

/** The memory that managers ask for after an OOM kill at this limit, bytes. */
export const targetAfterOom = (limit: number): number =>
  memoryAfterOom(limit, MIN_MANAGER_OOM_BUMP);
