import { errorClass, type ManagerName, managers } from '../../config/index.js';
import { type AwareChoice, type AwareParts, createAware } from '../aware/index.js';
import { marketManager } from '../market/index.js';
import type { ResourceManager } from '../resource-manager.js';
import { createSimppo, type SimppoParts } from '../simppo/index.js';
import { validated } from '../validation.js';
import { ENSURE_DEFAULT, ENSURE_PUBLISHED, ensureManager } from './ensure.js';
import { fixedManager } from './fixed.js';
import { GREEDY_DEFAULT, GREEDY_FREYR, greedyManager } from './greedy.js';
import { HPA_PUBLISHED, hpaManager } from './hpa.js';
import { HPA_VPA_DEFAULT, HPA_VPA_PUBLISHED, hpaVpaManager } from './hpa-vpa.js';
import { kpaManager } from './kpa.js';
import { RIGHT_SIZE_DEFAULT, rightSizeManager } from './right-size.js';
import { VPA_DEFAULT, VPA_PUBLISHED, vpaManager } from './vpa.js';

type Preset = 'default' | 'freyr';

export interface ManagerSettings
  extends Omit<SimppoParts, 'settings'>,
    Omit<AwareParts, 'choice' | 'fallback' | 'cap' | 'hook' | 'seed'> {
  /** `freyr`: constants as published, in whole units. */
  readonly preset?: Preset;
  /** Of manager `aware`; default: SIMPPO's agents without the meta-learner. */
  readonly aware?: AwareChoice;
}

const makers = {
  fixed: () => fixedManager(),
  greedy: ({ cap, preset }: ManagerSettings) =>
    greedyManager(preset === 'freyr' ? GREEDY_FREYR : GREEDY_DEFAULT, cap),
  ensure: ({ preset }: ManagerSettings) =>
    ensureManager(preset === 'freyr' ? ENSURE_PUBLISHED : ENSURE_DEFAULT),
  hpa: () => hpaManager(HPA_PUBLISHED),
  vpa: ({ preset }: ManagerSettings) =>
    vpaManager(preset === 'freyr' ? VPA_PUBLISHED : VPA_DEFAULT),
  'hpa-vpa': ({ preset }: ManagerSettings) =>
    hpaVpaManager(preset === 'freyr' ? HPA_VPA_PUBLISHED : HPA_VPA_DEFAULT),
  kpa: () => kpaManager(),
  'right-size': () => rightSizeManager(RIGHT_SIZE_DEFAULT),
  'slo-market': () => marketManager(),
  simppo: (settings) => createSimppo('simppo', settings),
  'single-agent': (settings) => createSimppo('single-agent', settings),
  aware: ({ aware: choice, ...settings }: ManagerSettings) => {
    const { cap, hook, seed, lifeCycle, lifeCycleOverrides, offlineTrainer, resident } = settings;
    return createAware({
      cap,
      choice,
      hook,
      // User limits, and weights by the activation policy alone: never worse than without Gleaner.
      fallback: fixedManager() as ResourceManager,
      seed,
      lifeCycle,
      lifeCycleOverrides,
      offlineTrainer,
      resident,
    });
  },
} as const satisfies Record<ManagerName, (settings: ManagerSettings) => ResourceManager>;

export class UnknownManagerError extends errorClass('GLN_MANAGER_UNKNOWN') {
  constructor(name: string) {
    super(name, managers.join(', '));
  }
}

/** Creates a manager with {@link validated} around it. Throws {@link UnknownManagerError}. */
export function createManager(name: string, settings: ManagerSettings): ResourceManager {
  if (!Object.hasOwn(makers, name)) throw new UnknownManagerError(name);
  return validated<unknown>(makers[name as ManagerName](settings), settings.cap);
}
