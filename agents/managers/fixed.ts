import type { ResourceManager } from '../resource-manager.js';

/** Always the user limits: the baseline of all comparisons. */
export function fixedManager(): ResourceManager<null> {
  return {
    name: 'fixed',
    initialState: () => null,
    decide: (state, { observation: { user } }) => ({
      state,
      decision: { cpu: user.cpu, memory: user.memory, actions: [0, 0, 0] },
    }),
    phase: () => 'managing',
  };
}
