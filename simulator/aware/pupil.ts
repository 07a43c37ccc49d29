import {
  Apprentice,
  actorOf,
  beginCourse,
  COURSE_INITIAL,
  type CourseState,
  courseStep,
  type Encoder,
  type Engine,
  LEARNED_FIRST,
  type LearnerState,
  type LifeCyclePhase,
  type LifeCycleSettings,
  type LifeCycleTransition,
  lifeCycleSettings,
  offlineSettings,
  type PpoSettings,
  phaseOf,
  simulatorSettings,
  type Trajectory,
  TrajectoryBundle,
  TrajectoryRecorder,
} from '../../agents/index.js';
import { AWARE_ACTIONS, actionOf, afterAction, allocationMask, INITIAL } from './allocation.js';
import { AWARE_FEATURES, awareFeatures } from './features.js';
import type { Controller } from './rule-based.js';
import { type AwareSystem, awareReward, type Sight } from './system.js';
import { TRANSFER_FEATURES, TransferFeatures } from './transfer.js';

/** Steps of an episode (FLASH, AWARE's successor: 50; simppo-aware.md §3.5). */
export const EPISODE_STEPS = 50;
/** Trajectories of a bundle (published: 20). */
export const BUNDLE = 20;
/** Trajectories from which an embedding hardly changes, and how often it is looked at then. */
const FEW = 5;
const REFRESHED = 5;
/** Steps of one update: four episodes, as FLASH has it. */
export const BATCH = 4 * EPISODE_STEPS;

/**
 * §6.2, but for what was tried on five training applications: allocations stay from episode to episode, so that an agent which has gone to the largest one
 * has a long way back; with less entropy or a shorter horizon it stays there.
 */
export const pupilPpo: PpoSettings = {
  ...simulatorSettings,
  gamma: 0.95,
  rate: { first: 2e-3, last: 1e-3 },
  entropy: { first: 0.03, last: 0.01 },
  updates: 100,
};

/** Online after bootstrapping, or from a policy that knows more than nothing: half the clip (simppo-aware.md §3.3 step 5). */
export const carefulPpo: PpoSettings = {
  ...pupilPpo,
  rate: { first: 5e-4, last: 5e-4 },
  entropy: { first: 0.01, last: 0.01 },
  clip: 0.1,
};

export const awareLifeCycle: LifeCycleSettings = { ...lifeCycleSettings, episodeSteps: EPISODE_STEPS };

/**
 * How it lives: `life-cycle` as agents/lifecycle says; `online` acts and learns from the first step on, unguarded; `serving` acts and never learns.
 */
export type Course = 'life-cycle' | 'online' | 'serving';

export interface PupilOptions {
  readonly engine: Engine;
  readonly course: Course;
  readonly seed: number;
  readonly ppo: PpoSettings;
  readonly start: LearnerState | null;
  /** The meta-learner; null: it goes without an embedding. */
  readonly encoder: Encoder | null;
  /** TL+'s features. */
  readonly transfer: boolean;
  readonly fallback: Controller;
  readonly begin?: CourseState;
  /** It only ever follows the fallback's actions: no surrogate, no end of being offline. */
  readonly cloneOnly?: boolean;
}

/** One episode, as it was. */
export interface EpisodeRecord {
  readonly earned: number;
  /** Share of steps whose p99 missed the SLO, and mean SLO preservation. */
  readonly missed: number;
  readonly preservation: number;
  readonly cpu: number;
  readonly memory: number;
  readonly phase: LifeCyclePhase;
  /** Share of steps that the agent took, and updates of its weights so far. */
  readonly acted: number;
  readonly updates: number;
}

export const pupilFeatures = (transfer: boolean): number => AWARE_FEATURES.length + (transfer ? TRANSFER_FEATURES : 0);

/** One agent at the wheel of an `AwareSystem`, under a life cycle or without. */
export class AwarePupil {
  readonly transitions: LifeCycleTransition[] = [];
  readonly bundle = new TrajectoryBundle(BUNDLE);
  readonly apprentice: Apprentice;
  course: CourseState;
  readonly #options: PupilOptions;
  readonly #recorder: TrajectoryRecorder;
  readonly #transfer = new TransferFeatures();
  readonly #features: number;
  #embedding: Float32Array;
  #usual = Number.NaN;
  #last = 0;
  #sight: Sight | null = null;
  #episodes = 0;

  constructor(options: PupilOptions) {
    const { engine, encoder, transfer, ppo, start, seed } = options;
    this.#options = options;
    this.#features = pupilFeatures(transfer);
    this.#embedding = new Float32Array(encoder?.shape.embedding ?? 0);
    this.apprentice = new Apprentice({
      engine,
      features: this.#features,
      context: this.#embedding.length,
      actions: AWARE_ACTIONS.length,
      ppo,
      offline: options.cloneOnly ? { ...offlineSettings, from: Number.POSITIVE_INFINITY } : offlineSettings,
      batch: BATCH,
      seed,
      start,
    });
    this.#recorder = new TrajectoryRecorder(AWARE_FEATURES.length, AWARE_ACTIONS.length);
    this.course = options.begin ?? beginCourse(COURSE_INITIAL, LEARNED_FIRST).state;
  }

  get embedding(): Float32Array {
    return this.#embedding;
  }

  #input(sight: Sight): Float32Array {
    const input = new Float32Array(this.#features + this.#embedding.length);
    this.#usual = Number.isNaN(this.#usual) ? sight.rate : this.#usual + 0.02 * (sight.rate - this.#usual);
    awareFeatures(sight, this.#usual, this.#last || sight.rate, input);
    this.#last = sight.rate;
    if (this.#options.transfer) this.#transfer.write(sight, input, AWARE_FEATURES.length);
    input.set(this.#embedding, this.#features);
    return input;
  }

  episode(system: AwareSystem): EpisodeRecord {
    const { course, fallback, encoder } = this.#options;
    const sums = { earned: 0, missed: 0, preservation: 0, cpu: 0, memory: 0, acted: 0 };
    // Computed once and held (simppo-aware.md §3.5): while little is known each episode, then each fifth, so that most steps of an update share one.
    const { length } = this.bundle.trajectories;
    const due = length <= FEW || this.#episodes++ % REFRESHED === 0;
    if (encoder !== null && due) this.#embedding = encoder.embed(this.bundle.trajectories);
    const phase = course === 'life-cycle' ? phaseOf(this.course) : course;
    let sight = this.#sight ?? system.step(system.allocation ?? INITIAL);
    let input = this.#input(sight);
    for (let step = 0; step < EPISODE_STEPS; step++) {
      const mask = allocationMask(sight.allocation, new Uint8Array(AWARE_ACTIONS.length));
      const before = sight.allocation;
      // Asked each time, so that it knows where things stand when it is needed.
      const fallen = course === 'life-cycle' ? fallback.decide(sight) : null;
      const agent = course === 'life-cycle' ? actorOf(this.course) === 'agent' : true;
      const learns = course === 'online' || (course === 'life-cycle' && phaseOf(this.course) === 'online');
      const action = agent ? this.apprentice.decide(input, mask, learns) : null;
      sight = system.step(action === null ? (fallen ?? before) : afterAction(before, action));
      const reward = awareReward(sight);
      const next = this.#input(sight);
      const done = action ?? actionOf(before, sight.allocation);
      this.#recorder.add(input, done, reward);
      if (action === null) {
        if (learns) this.apprentice.cut(next);
        else if (mask[done] === 1) this.apprentice.watch({ input, mask, action: done, reward });
      } else if (learns) this.apprentice.learn(action, reward, next);
      sums.earned += reward;
      sums.missed += Number(sight.preservation < 1);
      sums.preservation += sight.preservation;
      sums.cpu += sight.cpuUtilisation;
      sums.memory += sight.memoryUtilisation;
      sums.acted += Number(action !== null);
      input = next;
      if (course === 'life-cycle') this.#lived(sight, reward, input);
    }
    this.#sight = sight;
    this.bundle.add(this.#recorder.take());
    const over = (sum: number): number => sum / EPISODE_STEPS;
    return {
      earned: over(sums.earned),
      missed: over(sums.missed),
      preservation: over(sums.preservation),
      cpu: over(sums.cpu),
      memory: over(sums.memory),
      phase,
      acted: over(sums.acted),
      updates: this.apprentice.updates,
    };
  }

  #lived(sight: Sight, reward: number, after: Float32Array): void {
    const outcome = { reward, sloPreservation: sight.preservation, arrivals: sight.rate > 0 };
    const study = (): number | null => this.apprentice.study(after);
    const { state, transitions } = courseStep(this.course, outcome, study, LEARNED_FIRST, awareLifeCycle);
    this.course = state;
    for (const transition of transitions) {
      this.transitions.push(transition);
      if (transition.from === 'online') this.apprentice.cut(after);
      if (transition.to === 'offline' && transition.from === 'online') this.apprentice.restart();
      // Another world: what was recorded, watched and remembered of the old one says nothing of it.
      if (transition.from === 'serving') {
        this.bundle.clear();
        this.apprentice.forget();
      }
    }
  }

  dispose(): void {
    this.apprentice.dispose();
  }
}

/** An episode of a rule-based controller; what it did, as the meta-learner reads it. */
export function controlledEpisode(
  system: AwareSystem,
  controller: Controller,
  first: Sight | null,
): { readonly record: EpisodeRecord; readonly trajectory: Trajectory; readonly sight: Sight } {
  const recorder = new TrajectoryRecorder(AWARE_FEATURES.length, AWARE_ACTIONS.length);
  const sums = { earned: 0, missed: 0, preservation: 0, cpu: 0, memory: 0 };
  const input = new Float32Array(AWARE_FEATURES.length);
  let sight = first ?? system.step(system.allocation);
  let usual = sight.rate;
  let last = sight.rate;
  for (let step = 0; step < EPISODE_STEPS; step++) {
    usual += 0.02 * (sight.rate - usual);
    awareFeatures(sight, usual, last, input);
    last = sight.rate;
    const before = sight.allocation;
    sight = system.step(controller.decide(sight));
    const reward = awareReward(sight);
    recorder.add(input, actionOf(before, sight.allocation), reward);
    sums.earned += reward;
    sums.missed += Number(sight.preservation < 1);
    sums.preservation += sight.preservation;
    sums.cpu += sight.cpuUtilisation;
    sums.memory += sight.memoryUtilisation;
  }
  const over = (sum: number): number => sum / EPISODE_STEPS;
  return {
    record: {
      earned: over(sums.earned),
      missed: over(sums.missed),
      preservation: over(sums.preservation),
      cpu: over(sums.cpu),
      memory: over(sums.memory),
      phase: 'serving',
      acted: 0,
      updates: 0,
    },
    trajectory: recorder.take(),
    sight,
  };
}
