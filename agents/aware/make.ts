import { type HookRules, settingsOf, shippedPolicy, threadEngine } from '../simppo/index.js';
import { AwareManager, type AwareOptions } from './manager.js';
import { shippedMeta } from './meta-learner/index.js';

/** How the manager is configured (`agents.aware`). */
export interface AwareChoice extends Pick<AwareOptions, 'base'> {
  /** The shipped meta-learner gives agents an embedding, and new ones a similar agent's weights. */
  readonly embedding: boolean;
}

const AWARE_DEFAULT: AwareChoice = { base: 'simppo', embedding: false };

export interface AwareParts
  extends Omit<AwareOptions, 'base' | 'encoder' | 'settings' | 'engine' | 'seed' | 'start'> {
  readonly choice?: AwareChoice;
  /** Default: those of the default configuration. */
  readonly hook?: HookRules;
  readonly seed?: number;
}

/** `aware`: SIMPPO's agent from its shipped policy, or FIRM's untrained, under the life cycle. */
export function createAware({
  choice: { base, embedding } = AWARE_DEFAULT,
  hook,
  seed = 1,
  ...parts
}: AwareParts): AwareManager {
  const settings = settingsOf('simppo', hook && { hook });
  return new AwareManager({
    ...parts,
    base,
    encoder: embedding ? shippedMeta().encoder : null,
    settings,
    engine: threadEngine(),
    seed,
    start: (mode) => (base === 'simppo' ? shippedPolicy('simppo', mode, settings) : null),
  });
}
