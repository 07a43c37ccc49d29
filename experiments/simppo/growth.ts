import { lifeCycleSettings } from '../../agents/aware/index.js';
import type { LearnerState } from '../../agents/ppo/index.js';
import { threadEngine } from '../../agents/simppo/index.js';
import {
  judge,
  learnEpisode,
  type ScaledFunction,
  type ScalingAgentSettings,
  ScalingTeam,
  serving,
  type TeamMember,
} from '../autoscaling/index.js';
import { mean } from '../statistics.js';
import { trainTeam } from './learners.js';
import {
  type Arena,
  environmentOf,
  PUBLISHED,
  type StudySize,
  settingsOf,
  trainingSeed,
  tuningSeed,
  WARM_UP,
} from './protocol.js';

/**
 * Converged: the mean of this many episodes moved by less than 2 % and their deviation is at most 5
 * % of the largest possible return.
 */
const WINDOW = 10;
const LARGEST = 1;
const MOVED = 0.02;
const DEVIATION = 0.05;
/** Episodes that a population is judged by before and after it grows: always the same. */
const JUDGED = 2;
/** Populations that grow: with the virtual agent, and without it. */
export const GROWING = ['simppo', 'price-alone'] as const;
export type GrowingVariant = (typeof GROWING)[number];

/** Converged weights are changed with small, constant steps. */
const retraining = (settings: ScalingAgentSettings): ScalingAgentSettings => ({
  ...settings,
  ppo: {
    ...settings.ppo,
    learningRate: { first: 3e-4, last: 3e-4 },
    entropy: { first: 0.003, last: 0.003 },
  },
});

/** What came of adding functions to those that were there. */
export interface GrowthStage {
  readonly functions: number;
  readonly added: number;
  /** Raw reward of the old functions: before, at once after, and when all was stable again. */
  readonly before: number;
  readonly atOnce: number;
  readonly after: number;
  /** Mean reward of the added functions at once (warm start), and when all was stable. */
  readonly newAtOnce: number;
  readonly newAfter: number;
  /** Old agents whose detector tripped. */
  readonly tripped: number;
  /**
   * Until the returns were stable, without the two windows that show it: mean over those that
   * trained (the new and the tripped), and how many never were.
   */
  readonly retrainingEpisodes: number;
  readonly unsettled: number;
  /** Mean learning reward of all, episode by episode. */
  readonly curve: readonly number[];
}

/** Episodes before the two windows at the end that agree; null: the returns are not stable. */
export function convergedAfter(returns: readonly number[]): number | null {
  if (returns.length < 2 * WINDOW) return null;
  const last = returns.slice(-WINDOW);
  const now = mean(last);
  const deviation = Math.sqrt(mean(last.map((one) => (one - now) ** 2)));
  const before = mean(returns.slice(-2 * WINDOW, -WINDOW));
  const stable = Math.abs(now - before) < MOVED * LARGEST && deviation <= DEVIATION * LARGEST;
  return stable ? returns.length - 2 * WINDOW : null;
}

/**
 * How unlike two functions' demands are: what a new one starts from is the most similar one's
 * policy.
 */
const distance = (a: ScaledFunction, b: ScaledFunction): number =>
  Math.abs(Math.log(a.meanCpu / b.meanCpu)) +
  Math.abs(Math.log((1 + a.meanIo) / (1 + b.meanIo))) +
  Math.abs(a.parallelism - b.parallelism);

function membersOf(
  functions: readonly ScaledFunction[],
  known: readonly LearnerState[],
): TeamMember[] {
  return functions.map((fn, i) => {
    let nearest = i;
    if (i >= known.length) {
      nearest = 0;
      for (let k = 1; k < known.length; k++)
        if (distance(fn, functions[k]!) < distance(fn, functions[nearest]!)) nearest = k;
    }
    return { name: fn.name, state: known[nearest]! };
  });
}

/** Raw reward of each function, agents serving, on the same episodes every time. */
function rewardsOf(arena: Arena, team: ScalingTeam, name: GrowingVariant): number[] {
  const sums = arena.functions.map(() => 0);
  for (let i = 0; i < JUDGED; i++) {
    const episode = arena.judgedEpisode('validation', tuningSeed(i));
    const { functions } = judge(arena.judging, episode, serving(name, team), {
      warmUp: WARM_UP,
    });
    functions.forEach(({ reward }, k) => {
      sums[k]! += reward / JUDGED;
    });
  }
  return sums;
}

/**
 * The growth curve [SIMPPO]: functions join a converged population, and the capacity grows with
 * them. New agents start from the most similar agent's weights. For one episode only they learn,
 * then also agents whose detector trips, until all returns are stable. A stage keeps its traces;
 * each episode draws new activations.
 */
export function* grow(
  variant: GrowingVariant,
  seed: number,
  size: StudySize,
): Generator<GrowthStage> {
  const [first = 3, ...stages] = size.growth;
  const arena = environmentOf(first, PUBLISHED, size);
  const settings = settingsOf(variant, PUBLISHED);
  const { team: initialTeam } = trainTeam(arena, settings, seed, size.episodes);
  let known = initialTeam.export();
  let before = rewardsOf(arena, initialTeam, variant);
  initialTeam.dispose();
  for (const count of stages) {
    const arena = environmentOf(count, PUBLISHED, size);
    const stage = new Stage(variant, arena, known, before, seed, size);
    try {
      const result = stage.run();
      known = stage.team.export();
      before = stage.rewards;
      yield result;
    } finally {
      stage.team.dispose();
    }
  }
}

class Stage {
  readonly team: ScalingTeam;
  rewards: number[] = [];
  readonly #variant: GrowingVariant;
  readonly #arena: Arena;
  readonly #before: readonly number[];
  readonly #seed: number;
  readonly #size: StudySize;

  constructor(
    variant: GrowingVariant,
    arena: Arena,
    known: readonly LearnerState[],
    before: readonly number[],
    seed: number,
    size: StudySize,
  ) {
    this.#variant = variant;
    this.#arena = arena;
    this.#before = before;
    this.#seed = seed;
    this.#size = size;
    const members = membersOf(arena.functions, known);
    this.team = new ScalingTeam({
      engine: threadEngine(),
      settings: retraining(settingsOf(variant, PUBLISHED)),
      decisions: arena.learning.options.steps - 1,
      seed,
      members,
    });
  }

  run(): GrowthStage {
    const arena = this.#arena;
    const old = this.#before.length;
    const count = arena.functions.length;
    const pattern = arena.learningEpisode(trainingSeed(this.#seed, 90_000 + count));
    const atOnce = rewardsOf(arena, this.team, this.#variant);
    const returns: number[][] = arena.functions.map(() => []);
    const trained = arena.functions.map((_, i) => (i >= old ? 0 : Number.NaN));
    const curve: number[] = [];
    const rest = new Set<number>();
    this.team.learning.fill(false, 0, old);
    for (let episode = 0; episode < this.#size.maxRetraining; episode++) {
      if (episode === 1)
        for (let i = 0; i < old; i++)
          if (atOnce[i]! < lifeCycleSettings.servingShare * this.#before[i]!) {
            this.team.learning[i] = true;
            trained[i] = 0;
          }
      const seed = trainingSeed(this.#seed, 91_000 + episode);
      const rewards = learnEpisode(arena.learning, { ...pattern, seed }, this.team);
      curve.push(mean(rewards));
      this.team.learning.forEach((learning, i) => {
        if (!learning) return;
        trained[i]!++;
        returns[i]!.push(rewards[i]!);
        const converged = convergedAfter(returns[i]!);
        if (converged === null) return;
        trained[i] = converged;
        rest.add(i);
        this.team.learning[i] = false;
      });
      if (episode > 0 && !this.team.learning.includes(true)) break;
    }
    this.rewards = rewardsOf(arena, this.team, this.#variant);
    const episodes = trained.filter((one) => !Number.isNaN(one));
    return {
      functions: count,
      added: count - old,
      before: mean(this.#before),
      atOnce: mean(atOnce.slice(0, old)),
      after: mean(this.rewards.slice(0, old)),
      newAtOnce: mean(atOnce.slice(old)),
      newAfter: mean(this.rewards.slice(old)),
      tripped: trained.slice(0, old).filter((one) => !Number.isNaN(one)).length,
      retrainingEpisodes: mean(episodes),
      unsettled: episodes.length - rest.size,
      curve,
    };
  }
}
