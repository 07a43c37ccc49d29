import type { ResourceManager } from '../../agents/index.js';
import type { Millicores } from '../../config/index.js';

/** The best constant factor of weights: the most that agents may ask for. */
const FACTOR = 2;
/** Hooks clip it to the least that the safeguard allows: the best constant of quotas. */
const LEAST = 1 as Millicores;

/** The best constant decision of each mode, for comparisons with learners. */
export const constantManager = (): ResourceManager => ({
  name: 'constant',
  initialState: () => null,
  decide: (state, { observation: { cpuMode, user } }) => ({
    state,
    decision: {
      ...(cpuMode === 'weight' ? { weightFactor: FACTOR } : { cpu: LEAST }),
      memory: user.memory,
      actions: [0, 0, 0],
    },
  }),
  phase: () => 'managing',
});
