import { MIB } from '../config/index.js';

const OOM_BUMP_RATIO = 1.2;
const MIN_OOM_BUMP = 100 * MIB;

/**
 * The memory that an OOM kill at this limit asks for, bytes: 20 % or 100 MiB more, whichever is
 * larger, as in [VPA].
 */
export const memoryAfterOom = (limit: number): number =>
  Math.max(limit * OOM_BUMP_RATIO, limit + MIN_OOM_BUMP);
