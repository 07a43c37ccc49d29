import type { LearnerState } from '../../agents/ppo/index.js';
import { threadEngine } from '../../agents/simppo/index.js';
import {
  judge,
  learnEpisode,
  type ScalingAgentSettings,
  type ScalingCluster,
  ScalingTeam,
  serving,
} from '../autoscaling/index.js';
import { mean } from '../statistics.js';
import {
  type Arena,
  environmentOf,
  type Setting,
  type StudySize,
  settingsOf,
  testSeed,
  trainingSeed,
  type VariantName,
  WARM_UP,
} from './protocol.js';
import { type ContenderScore, meanScore } from './scores.js';

/** Points of a learning curve. */
const CURVE = 10;

export interface LearnerResult {
  /** Mean reward per step as agents learn from it, over each tenth of the training. */
  readonly curve: readonly number[];
  /** The same policies sharing the cores, and with all cores for each function. */
  readonly score: ContenderScore;
  readonly alone: ContenderScore;
}

/** A team that learns from nothing in an arena, with its learning curve. */
export function trainTeam(
  arena: Arena,
  settings: ScalingAgentSettings,
  seed: number,
  episodes: number,
): { team: ScalingTeam; curve: number[] } {
  const updates = Math.floor(episodes / settings.batchEpisodes);
  const team = new ScalingTeam({
    engine: threadEngine(),
    settings: { ...settings, ppo: { ...settings.ppo, updates } },
    decisions: arena.learning.options.steps - 1,
    seed,
    members: arena.functions.map(({ name }) => ({ name, state: null as LearnerState | null })),
  });
  const tenths: number[][] = Array.from({ length: CURVE }, () => []);
  for (let episode = 0; episode < episodes; episode++) {
    const rewards = learnEpisode(
      arena.learning,
      arena.learningEpisode(trainingSeed(seed, episode)),
      team,
    );
    tenths[Math.floor((CURVE * episode) / episodes)]!.push(mean(rewards));
  }
  return { team, curve: tenths.map(mean) };
}

/**
 * Trains a variant and judges it on held-out traces, where it takes its best actions and learns
 * nothing: sharing the cores, and the same policies once more with all cores for each function.
 */
export function runLearner(
  variant: VariantName,
  setting: Setting,
  seed: number,
  size: StudySize,
): LearnerResult {
  const arena = environmentOf(size.functions, setting, size);
  const { team, curve } = trainTeam(arena, settingsOf(variant, setting), seed, size.episodes);
  try {
    const episodes = heldOut(arena, seed, size);
    const scoreOn = (cluster: ScalingCluster): ContenderScore =>
      meanScore(
        episodes.map((episode) =>
          judge(cluster, episode, serving(variant, team), { warmUp: WARM_UP }),
        ),
      );
    return { curve, score: scoreOn(arena.judging), alone: scoreOn(arena.alone) };
  } finally {
    team.dispose();
  }
}

/** The held-out episodes of a seed: the same for every contender. */
export const heldOut = (arena: Arena, seed: number, { judged }: StudySize) =>
  Array.from({ length: judged }, (_, i) => arena.judgedEpisode('test', testSeed(seed, i)));
