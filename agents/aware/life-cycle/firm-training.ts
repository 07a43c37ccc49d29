import { SeededRandom } from '../../../config/index.js';
import type { DdpgSettings, DdpgShape, DdpgState, ReplayData } from '../../ddpg/index.js';
import { FirmAgent } from '../../firm/index.js';
import type { Engine } from '../../nn/index.js';
import type { DemonstratedEpisode } from './demonstration.js';
import { cloneActor, estimatedGainOf, SURROGATE_FROM, withSurrogate } from './offline.js';

/** An offline training round of FIRM's agent; plain data. */
export interface FirmTrainingJob {
  readonly shape: DdpgShape;
  /** How many of the inputs change from step to step; the others are the embedding. */
  readonly features: number;
  readonly ddpg: DdpgSettings;
  readonly state: DdpgState;
  readonly memory: ReplayData;
  readonly episodes: readonly DemonstratedEpisode[];
  /** The learner's seed; how often it was restarted, and which training round this is. */
  readonly seed: number;
  readonly restart: number;
  readonly round: number;
}

export interface FirmTrainingResult {
  readonly state: DdpgState;
  readonly estimatedGain: number | null;
}

/** Updates of one round: each step of an episode once or twice, in batches of 64. */
const UPDATES_PER_ROUND = 100;

/** Off-policy updates, then cloning: the critic has seen no other actions than the fallback's. */
export function trainFirmOffline(engine: Engine, job: FirmTrainingJob): FirmTrainingResult {
  const { shape, features, ddpg, state, memory, episodes, seed, restart, round } = job;
  const agent = new FirmAgent(engine, shape, ddpg, seed, restart);
  try {
    agent.import(state);
    agent.memory.import(memory);
    for (let i = 0; i < UPDATES_PER_ROUND; i++) agent.update();
    const random = new SeededRandom(seed).fork(`round ${round}`);
    cloneActor(agent.actor, episodes, random.fork('clone'));
    agent.copyToTargets();
    if (episodes.length < SURROGATE_FROM) return { state: agent.export(), estimatedGain: null };
    const sizes = { features, actions: shape.actions };
    return withSurrogate(engine, episodes, sizes, random.fork('surrogate'), (surrogate) => ({
      state: agent.export(),
      estimatedGain: estimatedGainOf(agent.actor, surrogate, shape, episodes),
    }));
  } finally {
    agent.dispose();
  }
}
