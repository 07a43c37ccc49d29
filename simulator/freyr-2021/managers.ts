import type { Random } from '../../config/index.js';
import type { FunctionHistory, PastInvocation } from './function-history.js';
import { type Allocation, RULES } from './rules.js';
import { safeguardRange, type UnitRange } from './safeguard-range.js';

/** Returns the function's allocation from its next request on; null: unchanged. */
export type PublishedManager = (
  history: FunctionHistory,
  freeClusterCpu: number,
) => Allocation | null;

const fixed: PublishedManager = ({ fn }) => fn.user;

/** The greedy manager of [FaaSRM]; the simulator's step is two units. */
const GREEDY_STEP = 2;

const greedy: PublishedManager = ({ fn, newest: [last] }) => {
  if (last === undefined) return fn.user;
  const next = (resource: 'cpu' | 'memory'): number => {
    const allocated = last.allocation[resource];
    return last.peak[resource] / allocated <= RULES.threshold
      ? Math.max(allocated - GREEDY_STEP, 1)
      : Math.min(allocated + GREEDY_STEP, RULES.cap);
  };
  return { cpu: next('cpu'), memory: next('memory') };
};

/**
 * [ENSURE] as [Freyr-sim] has it: two classes of functions, by their mean completion time in ticks.
 */
const ENSURE = {
  latencyThreshold: 1.1,
  /** Divisor of the sum of completion times, even if there are fewer. */
  window: 3,
  longAbove: 5,
  long: { updates: 5, step: 1 },
  short: { updates: 3, step: 2 },
} as const;

/**
 * As published, faults included: one counter for all functions, and while it counts, the last
 * action is reused for the next function, whichever that is. CPU only. [Freyr-sim]
 */
function ensure(): PublishedManager {
  let counter = 0;
  let action: number | null = null;
  const decide = (history: FunctionHistory, step: number, freeCpu: number): number | null => {
    const [last] = history.newest;
    if (last === undefined) return null;
    if (freeCpu <= step) return Math.max(last.allocation.cpu - step, 1);
    const sum = history.newest.reduce(
      (total: number, past: PastInvocation) => total + past.completion,
      0,
    );
    const slow = sum / ENSURE.window / history.fn.minDuration >= ENSURE.latencyThreshold;
    return slow ? Math.min(last.allocation.cpu + step, RULES.cap) : null;
  };
  return (history, freeCpu) => {
    const { updates, step } =
      history.meanCompletion > ENSURE.longAbove ? ENSURE.long : ENSURE.short;
    if (counter < updates) counter++;
    else {
      counter = 0;
      action = decide(history, step, freeCpu);
    }
    return action === null ? null : { cpu: action, memory: history.fn.user.memory };
  };
}

/** Baselines: any choice inside the mask, without learning. */
function inRange(choose: (range: UnitRange) => number): PublishedManager {
  return (history) => ({
    cpu: choose(safeguardRange(history, 'cpu')),
    memory: choose(safeguardRange(history, 'memory')),
  });
}

const makers = {
  fixed: () => fixed,
  greedy: () => greedy,
  ensure: () => ensure(),
  'smallest-in-range': () => inRange(({ lower }) => lower),
  'largest-in-range': () => inRange(({ upper }) => upper),
  'random-in-range': (random) =>
    inRange(({ lower, upper }) => lower + random.below(upper - lower + 1)),
  /** Any of the 64 options, without the safeguard. */
  'random-unguarded': (random) => () => ({
    cpu: 1 + random.below(RULES.cap),
    memory: 1 + random.below(RULES.cap),
  }),
} as const satisfies Record<string, (random: Random) => PublishedManager>;

export type PublishedManagerName = keyof typeof makers;
export const publishedManagerNames = Object.keys(makers) as readonly PublishedManagerName[];

export function publishedManager(name: PublishedManagerName, random: Random): PublishedManager {
  return makers[name](random);
}
