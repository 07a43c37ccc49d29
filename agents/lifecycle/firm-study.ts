import { type Random, SeededRandom } from '../../config/index.js';
import { DdpgAgent, type DdpgSettings, type DdpgShape, type DdpgState, type ReplayData } from '../ddpg/index.js';
import type { Engine } from '../nn/index.js';
import type { DemonstratedEpisode } from './demonstration.js';
import { aheadOf, cloneActor, type OfflineSettings } from './offline.js';
import { Surrogate } from './surrogate.js';

/** What FIRM's agent learns from after an episode that it has watched; plain data. */
export interface FirmStudyJob {
  readonly shape: DdpgShape;
  /** How many of the inputs change from step to step. */
  readonly features: number;
  readonly ddpg: DdpgSettings;
  readonly settings: OfflineSettings;
  readonly state: DdpgState;
  readonly memory: ReplayData;
  readonly episodes: readonly DemonstratedEpisode[];
  /** Of the apprentice, and which agent of its, and which evening of its, this is. */
  readonly seed: number;
  readonly life: number;
  readonly evening: number;
}

export interface FirmStudyResult {
  readonly state: DdpgState;
  /** As of `OfflineResult`. */
  readonly ahead: number | null;
}

/** Updates of an evening: each step of an episode once or twice, in batches of 64. */
const EVENING = 100;

/** The random stream of an apprentice's agent: the same wherever that agent is made. */
export const agentRandom = (seed: number, life: number): Random => new SeededRandom(seed).fork(`agent ${life}`);

/**
 * One evening of study: it learns off policy from what the fallback did; then the actor is led back to the fallback's actions, for its critic knows nothing of others
 * (batch-constrained in the plainest way: simppo-aware.md §3.3).
 */
export function studyFirm(engine: Engine, job: FirmStudyJob): FirmStudyResult {
  const { shape, features, ddpg, settings, state, memory, episodes, seed, life, evening } = job;
  const agent = new DdpgAgent(engine, shape, ddpg, agentRandom(seed, life));
  try {
    agent.import(state);
    agent.memory.import(memory);
    for (let i = 0; i < EVENING; i++) agent.update();
    const random = new SeededRandom(seed).fork(`evening ${evening}`);
    cloneActor(agent.actor, episodes, settings, random.fork('clone'));
    agent.settle();
    if (episodes.length < settings.from) return { state: agent.export(), ahead: null };
    const sizes = { features, actions: shape.actions };
    const surrogate = Surrogate.fit(engine, episodes, sizes, settings.surrogate, random.fork('surrogate'));
    try {
      return { state: agent.export(), ahead: aheadOf(agent.actor, surrogate, shape, settings.length, episodes) };
    } finally {
      surrogate.dispose();
    }
  } finally {
    agent.dispose();
  }
}
