import type { Logger } from '../../broker/index.js';
import { errorClass, type ManagerName, managers } from '../../config/index.js';
import type { LifeCycleOverrides, LifeCycleSettings, OfflineTrainer } from '../aware/index.js';
import { type AwareChoice, createAware } from '../aware/index.js';
import type { PolicyStore } from '../nn/index.js';
import type { Trainer } from '../ppo/index.js';
import type { Cap, ResourceManager } from '../resource-manager.js';
import type { RetrainTrigger, TrajectoryStep } from '../simppo/index.js';
import { createSimppo } from '../simppo/index.js';
import { ENSURE_DEFAULT, ENSURE_PUBLISHED, ensureManager } from './ensure.js';
import { fixedManager } from './fixed.js';
import { GREEDY_DEFAULT, GREEDY_FREYR, greedyManager } from './greedy.js';
import { HPA_PUBLISHED, hpaManager } from './hpa.js';
import { HPA_VPA_DEFAULT, HPA_VPA_PUBLISHED, hpaVpaManager } from './hpa-vpa.js';
import { kpaManager } from './kpa.js';
import { RIGHT_SIZE_DEFAULT, rightSizeManager } from './right-size.js';
import { validated } from './validation.js';
import { VPA_DEFAULT, VPA_PUBLISHED, vpaManager } from './vpa.js';

type Preset = 'default' | 'freyr';

export interface ManagerSettings {
  readonly cap: Cap;
  /** `freyr`: constants as published, in whole units. */
  readonly preset?: Preset;
  /** Where learning managers compute their updates; default: where they decide, at once. */
  readonly trainer?: Trainer;
  /** Of what learning managers draw. */
  readonly seed?: number;
  /** Of the manager `aware`; default: SIMPPO's agents without the meta-learner. */
  readonly aware?: AwareChoice;
  /** Of each step of an agent that learns, or could. */
  readonly onStep?: (step: TrajectoryStep) => void;
  readonly trigger?: RetrainTrigger;
  readonly policies?: PolicyStore;
  /**
   * Of `aware`: thresholds, the operator's overrides, and where agents learn (default: in place).
   */
  readonly lifeCycle?: LifeCycleSettings;
  readonly lifeCycleOverrides?: (fn: string) => LifeCycleOverrides;
  readonly offlineTrainer?: OfflineTrainer;
  /** Of `aware`: agents in memory, as many as the agent host keeps. */
  readonly resident?: number;
  readonly logger?: Logger;
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
  simppo: (settings) => createSimppo('simppo', settings),
  'single-agent': (settings) => createSimppo('single-agent', settings),
  aware: ({ preset, aware: choice, ...settings }: ManagerSettings) => {
    const { cap, seed, lifeCycle, lifeCycleOverrides, offlineTrainer, resident } = settings;
    const constants = preset === 'freyr' ? HPA_VPA_PUBLISHED : HPA_VPA_DEFAULT;
    return createAware({
      cap,
      choice,
      fallback: hpaVpaManager(constants) as ResourceManager,
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
