import type { ResourceManager } from '../resource-manager.js';

/**
 * Always what the user asked for (faasrm.md §4.1): the baseline that every other manager is held
 * against.
 */
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
