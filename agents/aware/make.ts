import type { Cap, ResourceManager } from '../resource-manager.js';
import { type SimppoSettings, settingsOf, shippedPolicy, threadEngine } from '../simppo/index.js';
import type { LifeCycleOverrides, LifeCycleSettings, OfflineTrainer } from './life-cycle/index.js';
import { type AwareBase, AwareManager } from './manager.js';
import { type Encoder, shippedMeta } from './meta-learner/index.js';

/** How the manager is configured (`agents.aware`). */
export interface AwareChoice {
  readonly base: AwareBase;
  /** The shipped meta-learner gives agents an embedding, and new ones a similar agent's weights. */
  readonly embedding: boolean;
}

const AWARE_DEFAULT: AwareChoice = { base: 'simppo', embedding: false };

export interface AwareParts {
  readonly cap: Cap;
  /** Acts until the agent is as good. */
  readonly fallback: ResourceManager;
  readonly choice?: AwareChoice;
  readonly settings?: Partial<SimppoSettings>;
  readonly lifeCycle?: LifeCycleSettings;
  readonly lifeCycleOverrides?: (fn: string) => LifeCycleOverrides;
  readonly seed?: number;
  readonly offlineTrainer?: OfflineTrainer;
  /** Agents whose weights are kept in memory. */
  readonly resident?: number;
  /** False: agents start untrained and clone the fallback first. */
  readonly warm?: boolean;
}

/** `aware`: SIMPPO's agent from its shipped policy, or FIRM's untrained, under the life cycle. */
export function createAware({
  cap,
  fallback,
  choice = AWARE_DEFAULT,
  settings: changes,
  lifeCycle,
  lifeCycleOverrides,
  offlineTrainer,
  resident,
  seed = 1,
  warm = true,
}: AwareParts): AwareManager {
  const settings = settingsOf('simppo', changes);
  const encoder: Encoder | null = choice.embedding ? shippedMeta().encoder : null;
  return new AwareManager({
    base: choice.base,
    encoder,
    fallback,
    settings,
    engine: threadEngine(),
    cap,
    seed,
    start: (mode) =>
      warm && choice.base === 'simppo' ? shippedPolicy('simppo', mode, settings) : null,
    ...(lifeCycle === undefined ? {} : { lifeCycle }),
    ...(lifeCycleOverrides === undefined ? {} : { lifeCycleOverrides }),
    ...(offlineTrainer === undefined ? {} : { offlineTrainer }),
    ...(resident === undefined ? {} : { resident }),
  });
}
