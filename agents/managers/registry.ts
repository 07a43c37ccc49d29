import { GleanerError } from '../../config/index.js';
import type { Cap, ResourceManager } from '../resource-manager.js';
import { fixedManager } from './fixed.js';
import { GREEDY_DEFAULT, GREEDY_FREYR, greedyManager } from './greedy.js';

export type Preset = 'default' | 'freyr';

export interface ManagerSettings {
  readonly cap: Cap;
  /** `freyr`: constants as published, in whole units. */
  readonly preset?: Preset;
}

const makers = {
  fixed: () => fixedManager(),
  greedy: ({ cap, preset }: ManagerSettings) => greedyManager(preset === 'freyr' ? GREEDY_FREYR : GREEDY_DEFAULT, cap),
} as const satisfies Record<string, (settings: ManagerSettings) => ResourceManager>;

export type ManagerName = keyof typeof makers;
export const managerNames = Object.keys(makers) as readonly ManagerName[];

export class UnknownManagerError extends GleanerError {
  readonly code = 'GLN_MANAGER_UNKNOWN';
  constructor(name: string) {
    super(`there is no resource manager '${name}'`, { hint: `one of: ${managerNames.join(', ')}` });
  }
}

/** Throws {@link UnknownManagerError}. */
export function createManager(name: string, settings: ManagerSettings): ResourceManager {
  if (!Object.hasOwn(makers, name)) throw new UnknownManagerError(name);
  return makers[name as ManagerName](settings);
}
