import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Observation } from '../../broker/messages/index.js';
import { SeededRandom } from '../../config/index.js';
import { type Checkpoint, type Engine, type Expected, readShipped } from '../nn/index.js';
import {
  expectedPpo,
  type LearnerState,
  newActorCritic,
  PpoLearner,
  ppoCheckpoint,
  ppoState,
} from '../ppo/index.js';
import { SIMPPO_ACTIONS } from './actions.js';
import { featuresOf, INPUT_LAYOUT } from './features.js';
import type { SimppoSettings } from './settings.js';

const CPU_MODES = ['weight', 'quota'] as const satisfies readonly Observation['cpuMode'][];
export type CpuMode = (typeof CPU_MODES)[number];

const SHIPPED = fileURLToPath(new URL('../../../agents/simppo/shipped/', import.meta.url));
const shipped = new Map<string, LearnerState | null>();

export const simppoShape = (settings: SimppoSettings) => ({
  features: featuresOf(settings),
  actions: SIMPPO_ACTIONS.length,
});

/** Untrained weights: nearly uniform actions. */
export function newWeights({
  engine,
  settings,
  seed,
}: {
  readonly engine: Engine;
  readonly settings: SimppoSettings;
  readonly seed: number;
}): LearnerState {
  const random = new SeededRandom(seed).fork('weights');
  const pair = newActorCritic(engine, simppoShape(settings), settings.ppo, random);
  try {
    return new PpoLearner(pair, settings.ppo, random).export();
  } finally {
    pair.dispose();
  }
}

/** Null if none is shipped. Throws `GLN_CHECKPOINT_DAMAGED`, `_FOREIGN` or `_NEWER`. */
export function shippedPolicy(
  name: string,
  mode: CpuMode,
  settings: SimppoSettings,
): LearnerState | null {
  const folder = join(SHIPPED, name, mode);
  let state = shipped.get(folder);
  if (state === undefined) {
    const checkpoint = readShipped(folder, expectedPolicy(settings));
    state = checkpoint && ppoState(folder, checkpoint);
    shipped.set(folder, state);
  }
  return state;
}

/** A policy for another layout of the inputs is foreign, whatever its width. */
const KIND = `simppo-inputs-${INPUT_LAYOUT}`;

export const expectedPolicy = (settings: SimppoSettings): Expected => ({
  ...expectedPpo(simppoShape(settings), settings.ppo),
  kind: KIND,
});

/** A policy as it is kept: with Adam's moments and counters, so that learning goes on. */
export function policyCheckpoint(
  state: LearnerState,
  settings: SimppoSettings,
  seed: number,
): Checkpoint {
  return {
    ...ppoCheckpoint(state, { shape: simppoShape(settings), settings: settings.ppo, seed }),
    kind: KIND,
  };
}
