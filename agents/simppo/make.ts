import { defaultEngine, type Engine } from '../nn/index.js';
import type { Cap } from '../resource-manager.js';
import { shippedPolicy } from './base-policy.js';
import { SimppoManager } from './manager.js';
import { type SimppoSettings, simppoSettings, singleAgentSettings } from './settings.js';
import { InlineTrainer, type Trainer } from './trainer.js';

export const SIMPPO_NAMES = ['simppo', 'single-agent'] as const;
export type SimppoName = (typeof SIMPPO_NAMES)[number];

export interface SimppoParts {
  readonly cap: Cap;
  readonly settings?: Partial<SimppoSettings>;
  /** Default: learns where it decides. */
  readonly trainer?: Trainer;
  readonly seed?: number;
}

/** All networks of a thread live in one engine's memory. */
let engine: Engine | undefined;
export function threadEngine(): Engine {
  engine ??= defaultEngine((text) => process.stderr.write(`gleaner: ${text}\n`));
  return engine;
}

export function settingsOf(name: SimppoName, changes: Partial<SimppoSettings> = {}): SimppoSettings {
  return { ...(name === 'simppo' ? simppoSettings : singleAgentSettings), ...changes };
}

/** `simppo` or `single-agent` on the policy shipped for it. Without one agents cannot serve: they begin online, untrained. */
export function createSimppo(
  name: SimppoName,
  { cap, settings: changes, trainer, seed = 1 }: SimppoParts,
): SimppoManager {
  const asked = settingsOf(name, changes);
  const base = shippedPolicy(name, asked);
  const settings: SimppoSettings = base === null ? { ...asked, begin: 'online' } : asked;
  const engine = threadEngine();
  return new SimppoManager({ name, settings, engine, trainer: trainer ?? new InlineTrainer(engine), base, seed, cap });
}
