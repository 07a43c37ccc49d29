import type { ScalingState } from './agent/state.js';
import type { ScalingTeam } from './agent/team.js';
import type { EpisodeArrivals } from './episode.js';
import {
  type Allocation,
  publishedStart,
  type ScaledState,
  type ScalingCluster,
} from './scaling-cluster.js';
import { scalingStatesOf, totalsOf } from './scaling-state.js';
import { type RunScore, ScoreKeeper } from './score.js';

/** Decides for all functions of a cluster, step by step. */
export interface ScalingController {
  readonly name: string;
  begin(cluster: ScalingCluster): void;
  /** What each function is to hold next; null: as it is. */
  decide(
    cluster: ScalingCluster,
    allObserved: readonly ScalingState[],
  ): readonly (Allocation | null)[];
}

export type Start = (state: ScaledState, meanRate: number) => Allocation;
const published: Start = ({ fn }, rate) => publishedStart(fn, rate);

/** One episode under a controller. The first `warmUp` steps count in no figure. */
export function judge(
  cluster: ScalingCluster,
  episode: EpisodeArrivals,
  controller: ScalingController,
  { warmUp, start = published }: { readonly warmUp: number; readonly start?: Start },
): RunScore {
  const score = new ScoreKeeper(cluster);
  cluster.reset(episode, start);
  controller.begin(cluster);
  for (let step = 0; !cluster.finished; step++) {
    if (step === warmUp) score.listen();
    if (step > 0) {
      controller.decide(cluster, scalingStatesOf(cluster)).forEach((target, i) => {
        if (target !== null) cluster.hold(i, target);
      });
    }
    cluster.advance();
    if (step >= warmUp) score.add(scalingStatesOf(cluster));
  }
  return score.close();
}

/**
 * An episode that agents learn from. Returns each one's mean reward per step, as it learns from it.
 */
export function learnEpisode(
  cluster: ScalingCluster,
  episode: EpisodeArrivals,
  team: ScalingTeam,
  start: Start = published,
): number[] {
  cluster.reset(episode, start);
  team.begin();
  // The first step runs at the start's allocation.
  cluster.advance();
  const sums = team.agents.map(() => 0);
  let steps = 0;
  let allObserved = scalingStatesOf(cluster);
  while (!cluster.finished) {
    team.decide(allObserved, totalsOf(cluster), true).forEach((held, i) => {
      cluster.hold(i, held);
    });
    cluster.advance();
    allObserved = scalingStatesOf(cluster);
    team.learn(allObserved, totalsOf(cluster)).forEach((reward, i) => {
      sums[i]! += reward;
    });
    steps++;
  }
  team.end(allObserved, totalsOf(cluster));
  return sums.map((sum) => sum / steps);
}

/** A team that serves: the most probable actions, nothing is learned. */
export function serving(name: string, team: ScalingTeam): ScalingController {
  return {
    name,
    begin: () => team.begin(),
    decide: (cluster, allObserved) => team.decide(allObserved, totalsOf(cluster), false),
  };
}
