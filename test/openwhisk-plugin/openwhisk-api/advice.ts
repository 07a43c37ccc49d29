import type { SizeAdvice } from '../../../broker/services/index.js';
import { type Millis, mebibytes } from '../../../config/index.js';
import type { SizingRules } from '../../../openwhisk-plugin/openwhisk-api/index.js';

export const HOUR = 3_600_000;

export const RULES: SizingRules = {
  rule: 'margin',
  leastActivations: 100,
  leastSeen: HOUR,
  canaries: 2,
  watchTime: HOUR / 2,
  watchActivations: 50,
  payBack: null,
  killedSizeHoldTime: 30 * 24 * HOUR,
  holdTime: HOUR / 6,
};

/** 512 MiB of which 192 are enough, of a function with enough of everything. */
export function adviceOf(
  fn: string,
  changes: Partial<SizeAdvice> & { limitMiB?: number; sizeMiB?: number } = {},
): SizeAdvice {
  const { limitMiB = 512, sizeMiB = 192, ...rest } = changes;
  return {
    function: fn,
    limit: mebibytes(limitMiB),
    size: mebibytes(sizeMiB),
    highest: mebibytes(128),
    recent: mebibytes(128),
    activations: 1000,
    activationsAtLimit: 1000,
    seen: (2 * HOUR) as Millis,
    rate: 1,
    busy: 100 as Millis,
    coldStarts: 3,
    evictionRate: 0,
    containers: 2,
    kills: 0,
    killedAt: null,
    ...rest,
  };
}
