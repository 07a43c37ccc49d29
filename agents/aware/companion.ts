import type { Observation } from '../../broker/messages/index.js';
import { firmSettings } from '../ddpg/index.js';
import type { Engine } from '../nn/index.js';
import { type LearnerState, onlineSettings, type PpoSettings } from '../ppo/index.js';
import {
  SIMPPO_ACTIONS,
  type SimppoSettings,
  simppoShape,
  widenPolicyInputs,
} from '../simppo/index.js';
import { FunctionEmbedding } from './function-embedding.js';
import {
  FirmLifeCycleLearner,
  type LifeCycleLearner,
  type OfflineTrainer,
  offlineSettings,
  PpoLifeCycleLearner,
} from './life-cycle/index.js';
import { cosine, type Encoder } from './meta-learner/index.js';

export const AWARE_BASES = ['simppo', 'firm'] as const;
/**
 * What learns under the life cycle: PPO from SIMPPO's shipped policy, or FIRM's DDPG from nothing.
 */
export type AwareBase = (typeof AWARE_BASES)[number];

/** Online after bootstrapping: half the clip (simppo-aware.md §3.3 step 5). */
const PPO: PpoSettings = { ...onlineSettings, clip: 0.1 };
const BATCH = 200;
/** Cosine from which another function's agent is a better start than the shipped policy. */
const MIN_SIMILARITY = 0.9;

/** What one function's agent is made of, in the manager's memory. */
export interface Companion {
  readonly learner: LifeCycleLearner;
  /** Null: the meta-learner is not used. */
  readonly embedding: FunctionEmbedding | null;
  mode: Observation['cpuMode'];
  /** It has settled: others may begin from it. */
  serves: boolean;
}

export interface CompanionOptions {
  readonly base: AwareBase;
  readonly engine: Engine;
  readonly settings: SimppoSettings;
  readonly encoder: Encoder | null;
  readonly seed: number;
  readonly mode: Observation['cpuMode'];
  readonly start: LearnerState | null;
  /** Where it learns what takes long; undefined: where it decides. */
  readonly offlineTrainer?: OfflineTrainer | undefined;
}

export function companionOf({
  base,
  engine,
  settings,
  encoder,
  seed,
  mode,
  start,
  offlineTrainer,
}: CompanionOptions): Companion {
  const { features, actions } = simppoShape(settings);
  const context = encoder?.shape.embedding ?? 0;
  const trainerOption = offlineTrainer === undefined ? {} : { offlineTrainer };
  const common = {
    engine,
    features,
    context,
    actions,
    offline: offlineSettings,
    seed,
    ...trainerOption,
  };
  const learner =
    base === 'firm'
      ? new FirmLifeCycleLearner({ ...common, ddpg: firmSettings })
      : new PpoLifeCycleLearner({
          ...common,
          ppo: PPO,
          batch: BATCH,
          start:
            start === null ? null : widenPolicyInputs(start, { features, actions }, context, PPO),
        });
  const embedding = encoder === null ? null : new FunctionEmbedding(encoder, SIMPPO_ACTIONS.length);
  return { learner, embedding, mode, serves: false };
}

/**
 * Begins from the agent of the function that is most alike, where one is alike enough; false: none
 * is.
 */
export function beginFromMostSimilar(companion: Companion, others: Iterable<Companion>): boolean {
  const { embedding, mode, learner } = companion;
  if (embedding === null) return false;
  let best: Companion | null = null;
  let most = MIN_SIMILARITY;
  for (const other of others) {
    if (other === companion || !other.serves || other.mode !== mode || other.embedding === null)
      continue;
    const similarity = cosine(embedding.value, other.embedding.value);
    if (similarity < most) continue;
    most = similarity;
    best = other;
  }
  return best !== null && learner.take(best.learner.weights());
}
