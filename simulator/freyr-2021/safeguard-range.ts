import type { FunctionHistory } from './function-history.js';
import { RULES } from './rules.js';

export interface UnitRange {
  readonly lower: number;
  readonly upper: number;
}

/**
 * The options of the 8 x 8 that the published safeguard's mask allows, per resource. [Freyr-sim]
 */
export function safeguardRange(history: FunctionHistory, resource: 'cpu' | 'memory'): UnitRange {
  const user = history.fn.user[resource];
  const last = history.newest[0];
  if (last === undefined) return { lower: user, upper: user };
  const peak = last.peak[resource];
  const upper = peak / user <= RULES.threshold ? user : RULES.cap;
  const spike =
    upper === user &&
    peak / user <= RULES.threshold &&
    peak / last.allocation[resource] >= RULES.threshold;
  if (spike) return { lower: user, upper: user };
  return { lower: Math.min(Math.floor(history.recentPeak[resource]) + 1, upper), upper };
}
