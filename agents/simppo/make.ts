import type { Logger } from '../../broker/index.js';
import type { ManagerName } from '../../config/index.js';
import { defaultEngine, type Engine, type PolicyStore } from '../nn/index.js';
import { InlineTrainer, type LearnerState, type Trainer } from '../ppo/index.js';
import type { Cap } from '../resource-manager.js';
import { type CpuMode, shippedPolicy } from './base-policy.js';
import { BrokerBasePolicyStore } from './base-policy-store.js';
import { SimppoByMode } from './by-mode.js';
import { SimppoManager } from './manager.js';
import { BrokerOwnPolicyStore } from './own-policy-store.js';
import type { RetrainTrigger } from './retrain-trigger.js';
import {
  type HookRules,
  liveLearning,
  type SimppoSettings,
  simppoSettings,
  singleAgentSettings,
} from './settings.js';
import type { TrajectoryStep } from './trajectory-step.js';

export const SIMPPO_NAMES = ['simppo', 'single-agent'] as const satisfies readonly ManagerName[];
export type SimppoName = (typeof SIMPPO_NAMES)[number];

export interface SimppoParts {
  readonly cap: Cap;
  readonly settings?: Partial<SimppoSettings>;
  /** Default: those of the default configuration. */
  readonly hook?: HookRules;
  /** Default: learns where it decides. */
  readonly trainer?: Trainer;
  readonly seed?: number;
  /** Policy that all agents start from, in either mode; default: the shipped one of each. */
  readonly trained?: LearnerState;
  readonly onStep?: (step: TrajectoryStep) => void;
  readonly trigger?: RetrainTrigger;
  /** Weights of functions' own rest here. */
  readonly policies?: PolicyStore;
  readonly logger?: Logger;
}

/** All networks of a thread live in one engine's memory. */
let engine: Engine | undefined;
export function threadEngine(): Engine {
  engine ??= defaultEngine((text) => process.stderr.write(`gleaner: ${text}\n`));
  return engine;
}

export function settingsOf(
  name: SimppoName,
  changes: Partial<SimppoSettings> = {},
): SimppoSettings {
  return { ...(name === 'simppo' ? simppoSettings : singleAgentSettings), ...changes };
}

/** On trained policies, which learn on; without one agents begin online, untrained. */
export function createSimppo(
  name: SimppoName,
  {
    cap,
    settings: changes,
    hook,
    trainer,
    seed = 1,
    trained,
    policies,
    logger,
    onStep,
    trigger,
  }: SimppoParts,
): SimppoByMode {
  const asked = settingsOf(name, { ...liveLearning, ...(hook && { hook }), ...changes });
  const engine = threadEngine();
  const learns = {
    engine,
    trainer: trainer ?? new InlineTrainer(engine),
    seed,
    cap,
    onStep,
    trigger,
  };
  const managerOf = (mode: CpuMode): SimppoManager => {
    const base = trained ?? shippedPolicy(name, mode, asked);
    const settings: SimppoSettings = base === null ? { ...asked, begin: 'online' } : asked;
    const stored = { manager: `${name}-${mode}`, settings, seed, logger };
    const stores =
      policies === undefined
        ? {}
        : {
            ownPolicyStore: new BrokerOwnPolicyStore(policies, stored),
            basePolicyStore: new BrokerBasePolicyStore(policies, { ...stored, shipped: base }),
          };
    return new SimppoManager({ name, settings, base, ...stores, ...learns });
  };
  return new SimppoByMode(managerOf('weight'), managerOf('quota'));
}
