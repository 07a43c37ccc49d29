import type { LifeCycleSettings, LifeCycleWish } from '../lifecycle/index.js';
import type { Cap, ResourceManager } from '../resource-manager.js';
import { type SimppoSettings, settingsOf, shippedPolicy, threadEngine } from '../simppo/index.js';
import { AwareManager } from './manager.js';

export interface AwareParts {
  readonly cap: Cap;
  /** Who acts until the agent is as good. */
  readonly fallback: ResourceManager;
  readonly settings?: Partial<SimppoSettings>;
  readonly lifeCycle?: LifeCycleSettings;
  readonly wish?: (fn: string) => LifeCycleWish;
  readonly seed?: number;
  /** False: agents begin with nothing, and follow the fallback's actions first. */
  readonly warm?: boolean;
}

/** `aware`: SIMPPO's agent, from the base policy that is shipped for it, under AWARE's life cycle. */
export function createAware({
  cap,
  fallback,
  settings: changes,
  lifeCycle,
  wish,
  seed = 1,
  warm = true,
}: AwareParts): AwareManager {
  const settings = settingsOf('simppo', changes);
  return new AwareManager({
    fallback,
    settings,
    engine: threadEngine(),
    cap,
    seed,
    start: (mode) => (warm ? shippedPolicy('simppo', mode, settings) : null),
    ...(lifeCycle === undefined ? {} : { lifeCycle }),
    ...(wish === undefined ? {} : { wish }),
  });
}
