import {
  AwareAgent,
  aimedStep,
  beginLifeCycleRun,
  DEFAULT_OVERRIDES,
  type Encoder,
  FunctionEmbedding,
  LIFE_CYCLE_INITIAL,
  LIFE_CYCLE_RUN_INITIAL,
  type LifeCyclePhase,
  type LifeCycleRunState,
  type LifeCycleSettings,
  type LifeCycleTransition,
  lifeCycleSettings,
  META_FEATURES,
  metaFeatures,
  metaReward,
  NO_RATES,
  PpoLifeCycleLearner,
  phaseOf,
  type Trajectory,
  TrajectoryRecorder,
} from '../../agents/aware/index.js';
import type { Engine } from '../../agents/nn/index.js';
import { type LearnerState, type PpoSettings, simulatorSettings } from '../../agents/ppo/index.js';
import { SIMPPO_ACTIONS } from '../../agents/simppo/index.js';
import { actionOf, afterAction, allocationMask } from './allocation.js';
import type { Controller } from './rule-based.js';
import type { AwareSystem, SystemSnapshot } from './system.js';
import { TRANSFER_FEATURES, TransferFeatures } from './transfer.js';

/** Steps of an episode, as in FLASH, AWARE's successor (AWARE gives no number). */
export const FLASH_EPISODE_STEPS = 50;
/** Steps of one update: four episodes, as in FLASH. */
const BATCH = 4 * FLASH_EPISODE_STEPS;

/**
 * For agents that start untrained. Tuned on five training applications: allocations persist across
 * episodes, so with less entropy or a shorter horizon an agent that has reached the largest
 * allocation stays there.
 */
export const agentPpo: PpoSettings = {
  ...simulatorSettings,
  gamma: 0.95,
  learningRate: { first: 2e-3, last: 1e-3 },
  entropy: { first: 0.03, last: 0.01 },
  updates: 100,
};

/** After bootstrapping, or from a trained policy: half the clip [AWARE]. */
export const conservativePpo: PpoSettings = {
  ...agentPpo,
  learningRate: { first: 5e-4, last: 5e-4 },
  entropy: { first: 0.01, last: 0.01 },
  clip: 0.1,
};

const awareLifeCycle: LifeCycleSettings = {
  ...lifeCycleSettings,
  episodeSteps: FLASH_EPISODE_STEPS,
};

/**
 * `life-cycle`: guarded, as in the product; `online`: acts and learns from the first step on,
 * without a guard; `serving`: acts and never learns.
 */
type Course = 'life-cycle' | 'online' | 'serving';

export interface AgentRunOptions {
  readonly engine: Engine;
  readonly course: Course;
  readonly seed: number;
  readonly ppo: PpoSettings;
  readonly start: LearnerState | null;
  /** The meta-learner; null: no embedding. */
  readonly encoder: Encoder | null;
  /** The features of TL+. */
  readonly transfer: boolean;
  readonly fallback: Controller;
  readonly begin?: LifeCycleRunState;
  /** It only clones the fallback: no surrogate, and it never goes online. */
  readonly cloneOnly?: boolean;
}

/** The figures of one episode. */
export interface EpisodeRecord {
  readonly earned: number;
  /** What the agent learned from: the same with the share of the SLO that all agents aim at. */
  readonly learned: number;
  /** Share of steps whose p99 missed the SLO, and mean SLO preservation. */
  readonly missed: number;
  readonly preservation: number;
  /** Mean use over what is allocated. */
  readonly cpu: number;
  readonly memory: number;
  readonly phase: LifeCyclePhase;
  /** Share of steps that the agent decided, and updates of its weights so far. */
  readonly acted: number;
  readonly updates: number;
}

/** Adds up the figures of an episode's steps. */
class EpisodeFigures {
  readonly #sums = {
    earned: 0,
    learned: 0,
    missed: 0,
    preservation: 0,
    cpu: 0,
    memory: 0,
    acted: 0,
  };

  add(snapshot: SystemSnapshot, learned: number, acted: boolean): void {
    const sums = this.#sums;
    sums.earned += metaReward(snapshot);
    sums.learned += learned;
    sums.missed += Number(snapshot.preservation < 1);
    sums.preservation += snapshot.preservation;
    sums.cpu += snapshot.cpuUtilization;
    sums.memory += snapshot.memoryUtilization;
    sums.acted += Number(acted);
  }

  record(phase: LifeCyclePhase, updates: number): EpisodeRecord {
    const { earned, learned, missed, preservation, cpu, memory, acted } = this.#sums;
    return {
      earned: earned / FLASH_EPISODE_STEPS,
      learned: learned / FLASH_EPISODE_STEPS,
      missed: missed / FLASH_EPISODE_STEPS,
      preservation: preservation / FLASH_EPISODE_STEPS,
      cpu: cpu / FLASH_EPISODE_STEPS,
      memory: memory / FLASH_EPISODE_STEPS,
      phase,
      acted: acted / FLASH_EPISODE_STEPS,
      updates,
    };
  }
}

/** A life cycle that stays in one phase. */
const inPhase = (phase: LifeCyclePhase): LifeCycleRunState => ({
  ...LIFE_CYCLE_RUN_INITIAL,
  life: { ...LIFE_CYCLE_INITIAL, phase },
});

/** A step as the agent sees it, without the embedding. */
interface SeenStep {
  readonly snapshot: SystemSnapshot;
  readonly features: Float32Array;
  readonly reward: number;
}

/** The product's AWARE agent on the published protocol: its features, actions and reward. */
export class AgentRun {
  readonly transitions: LifeCycleTransition[] = [];
  readonly learner: PpoLifeCycleLearner;
  readonly #agent: AwareAgent;
  readonly #options: AgentRunOptions;
  readonly #transfer = new TransferFeatures();
  readonly #width: number;
  #run: LifeCycleRunState;
  #rates = NO_RATES;
  /** The last step; episodes follow each other. */
  #seen: SeenStep | null = null;

  constructor(options: AgentRunOptions) {
    const { engine, encoder, transfer, ppo, start, seed, course, begin } = options;
    this.#options = options;
    this.#width = META_FEATURES.length + (transfer ? TRANSFER_FEATURES : 0);
    this.learner = new PpoLifeCycleLearner({
      engine,
      features: this.#width,
      context: encoder?.shape.embedding ?? 0,
      actions: SIMPPO_ACTIONS.length,
      ppo,
      surrogateFrom: options.cloneOnly ? Number.POSITIVE_INFINITY : undefined,
      batch: BATCH,
      seed,
      start: () => start,
    });
    const embedding =
      encoder === null ? null : new FunctionEmbedding(encoder, SIMPPO_ACTIONS.length);
    this.#agent = new AwareAgent(this.learner, embedding);
    this.#run =
      course !== 'life-cycle'
        ? inPhase(course)
        : (begin ?? beginLifeCycleRun(LIFE_CYCLE_RUN_INITIAL, DEFAULT_OVERRIDES).state);
  }

  /** Episodes that its embedding rests on. */
  get trajectories(): readonly Trajectory[] {
    return this.#agent.embedding?.trajectories ?? [];
  }

  /** Episodes of this workload that were played before. */
  remember(trajectories: readonly Trajectory[]): void {
    this.#agent.embedding?.add(trajectories);
  }

  /** Once for each: the change of the load and the features of TL+ follow from the one before. */
  #see(snapshot: SystemSnapshot): SeenStep {
    const aimed = aimedStep(snapshot);
    const features = new Float32Array(this.#width);
    this.#rates = metaFeatures(aimed, this.#rates, features);
    if (this.#options.transfer) this.#transfer.write(aimed, features, META_FEATURES.length);
    return { snapshot, features, reward: metaReward(aimed) };
  }

  episode(system: AwareSystem): EpisodeRecord {
    const { course, fallback } = this.#options;
    const agent = this.#agent;
    const guided = course === 'life-cycle';
    const figures = new EpisodeFigures();
    const phase = phaseOf(this.#run);
    let seen = this.#seen ?? this.#see(system.step(system.allocation));
    // After an episode the embedding may be another one.
    let input = agent.input(seen.features);
    for (let step = 0; step < FLASH_EPISODE_STEPS; step++) {
      const before = seen.snapshot.allocation;
      const mask = allocationMask(before, new Uint8Array(SIMPPO_ACTIONS.length));
      // Asked at each step, so that its state is current when it has to decide.
      const fallbackTarget = guided ? fallback.decide(seen.snapshot) : before;
      const choice = agent.decide(this.#run, input, mask);
      const target = choice === null ? fallbackTarget : afterAction(before, choice.action);
      seen = this.#see(system.step(target));
      const { snapshot, reward } = seen;
      const next = agent.input(seen.features);
      const action = choice?.action ?? actionOf(before, snapshot.allocation);
      agent.embedding?.record(input, action, reward);
      agent.learn(this.#run, { input, mask, action, choice, reward, host: '' }, next);
      figures.add(snapshot, reward, choice !== null);
      input = next;
      if (guided) this.#advance(snapshot, reward, choice !== null);
    }
    if (!guided) agent.embedding?.close();
    this.#seen = seen;
    return figures.record(phase, this.learner.updates);
  }

  #advance({ preservation, rate }: SystemSnapshot, reward: number, byAgent: boolean): void {
    const { state, transitions } = this.#agent.advance(
      this.#run,
      { reward, sloPreservation: preservation, arrivals: rate > 0, byAgent },
      DEFAULT_OVERRIDES,
      awareLifeCycle,
    );
    this.#run = state;
    this.transitions.push(...transitions);
  }

  dispose(): void {
    this.learner.dispose();
  }
}

/** An episode of a rule-based controller, also as the trajectory that the meta-learner reads. */
export function controlledEpisode(
  system: AwareSystem,
  controller: Controller,
  first: SystemSnapshot | null,
): {
  readonly record: EpisodeRecord;
  readonly trajectory: Trajectory;
  readonly snapshot: SystemSnapshot;
} {
  const recorder = new TrajectoryRecorder(META_FEATURES.length, SIMPPO_ACTIONS.length);
  const figures = new EpisodeFigures();
  const input = new Float32Array(META_FEATURES.length);
  let snapshot = first ?? system.step(system.allocation);
  let rates = NO_RATES;
  for (let step = 0; step < FLASH_EPISODE_STEPS; step++) {
    rates = metaFeatures(snapshot, rates, input);
    const before = snapshot.allocation;
    snapshot = system.step(controller.decide(snapshot));
    const reward = metaReward(snapshot);
    recorder.add(input, actionOf(before, snapshot.allocation), reward);
    figures.add(snapshot, reward, false);
  }
  return { record: figures.record('serving', 0), trajectory: recorder.take(), snapshot };
}
