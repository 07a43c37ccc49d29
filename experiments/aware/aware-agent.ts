import {
  actorOf,
  beginLifeCycleRun,
  DEFAULT_OVERRIDES,
  type Encoder,
  LIFE_CYCLE_RUN_INITIAL,
  type LifeCyclePhase,
  type LifeCycleRunState,
  type LifeCycleSettings,
  type LifeCycleTransition,
  lifeCycleRunStep,
  lifeCycleSettings,
  offlineSettings,
  PpoLifeCycleLearner,
  phaseOf,
  type Trajectory,
  TrajectoryBundle,
  TrajectoryRecorder,
} from '../../agents/aware/index.js';
import type { Engine } from '../../agents/nn/index.js';
import { type LearnerState, type PpoSettings, simulatorSettings } from '../../agents/ppo/index.js';
import { AWARE_ACTIONS, actionOf, afterAction, allocationMask, INITIAL } from './allocation.js';
import { AWARE_FEATURES, awareFeatures } from './features.js';
import type { Controller } from './rule-based.js';
import { type AwareSystem, awareReward, type SystemSnapshot } from './system.js';
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
 * §6.2, but for what was tried on five training applications: allocations stay from episode to
 * episode, so that an agent which has gone to the largest one has a long way back; with less
 * entropy or a shorter horizon it stays there.
 */
export const agentPpo: PpoSettings = {
  ...simulatorSettings,
  gamma: 0.95,
  learningRate: { first: 2e-3, last: 1e-3 },
  entropy: { first: 0.03, last: 0.01 },
  updates: 100,
};

/**
 * Online after bootstrapping, or from a policy that knows more than nothing: half the clip
 * (simppo-aware.md §3.3 step 5).
 */
export const conservativePpo: PpoSettings = {
  ...agentPpo,
  learningRate: { first: 5e-4, last: 5e-4 },
  entropy: { first: 0.01, last: 0.01 },
  clip: 0.1,
};

export const awareLifeCycle: LifeCycleSettings = {
  ...lifeCycleSettings,
  episodeSteps: EPISODE_STEPS,
};

/**
 * How it lives: `life-cycle` as agents/aware/life-cycle says; `online` acts and learns from the
 * first step on, unguarded; `serving` acts and never learns.
 */
export type Course = 'life-cycle' | 'online' | 'serving';

export interface AwareAgentOptions {
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
  readonly begin?: LifeCycleRunState;
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

export const agentFeatureCount = (transfer: boolean): number =>
  AWARE_FEATURES.length + (transfer ? TRANSFER_FEATURES : 0);

/** One agent at the wheel of an `AwareSystem`, under a life cycle or without. */
export class AwareAgent {
  readonly transitions: LifeCycleTransition[] = [];
  readonly bundle = new TrajectoryBundle(BUNDLE);
  readonly lifeCycleLearner: PpoLifeCycleLearner;
  course: LifeCycleRunState;
  readonly #options: AwareAgentOptions;
  readonly #recorder: TrajectoryRecorder;
  readonly #transfer = new TransferFeatures();
  readonly #features: number;
  #embedding: Float32Array;
  #typicalRate = Number.NaN;
  #last = 0;
  #snapshot: SystemSnapshot | null = null;
  #episodes = 0;

  constructor(options: AwareAgentOptions) {
    const { engine, encoder, transfer, ppo, start, seed } = options;
    this.#options = options;
    this.#features = agentFeatureCount(transfer);
    this.#embedding = new Float32Array(encoder?.shape.embedding ?? 0);
    this.lifeCycleLearner = new PpoLifeCycleLearner({
      engine,
      features: this.#features,
      context: this.#embedding.length,
      actions: AWARE_ACTIONS.length,
      ppo,
      offline: options.cloneOnly
        ? { ...offlineSettings, from: Number.POSITIVE_INFINITY }
        : offlineSettings,
      batch: BATCH,
      seed,
      start,
    });
    this.#recorder = new TrajectoryRecorder(AWARE_FEATURES.length, AWARE_ACTIONS.length);
    this.course =
      options.begin ?? beginLifeCycleRun(LIFE_CYCLE_RUN_INITIAL, DEFAULT_OVERRIDES).state;
  }

  get embedding(): Float32Array {
    return this.#embedding;
  }

  #input(snapshot: SystemSnapshot): Float32Array {
    const input = new Float32Array(this.#features + this.#embedding.length);
    this.#typicalRate = Number.isNaN(this.#typicalRate)
      ? snapshot.rate
      : this.#typicalRate + 0.02 * (snapshot.rate - this.#typicalRate);
    awareFeatures(snapshot, this.#typicalRate, this.#last || snapshot.rate, input);
    this.#last = snapshot.rate;
    if (this.#options.transfer) this.#transfer.write(snapshot, input, AWARE_FEATURES.length);
    input.set(this.#embedding, this.#features);
    return input;
  }

  episode(system: AwareSystem): EpisodeRecord {
    const { course, fallback, encoder } = this.#options;
    const sums = { earned: 0, missed: 0, preservation: 0, cpu: 0, memory: 0, acted: 0 };
    // Computed once and held (simppo-aware.md §3.5): while little is known each episode, then each
    // fifth, so that most steps of an update share one.
    const { length } = this.bundle.trajectories;
    const due = length <= FEW || this.#episodes++ % REFRESHED === 0;
    if (encoder !== null && due) this.#embedding = encoder.embed(this.bundle.trajectories);
    const phase = course === 'life-cycle' ? phaseOf(this.course) : course;
    let snapshot = this.#snapshot ?? system.step(system.allocation ?? INITIAL);
    let input = this.#input(snapshot);
    for (let step = 0; step < EPISODE_STEPS; step++) {
      const mask = allocationMask(snapshot.allocation, new Uint8Array(AWARE_ACTIONS.length));
      const before = snapshot.allocation;
      // Asked each time, so that it knows where things stand when it is needed.
      const fallen = course === 'life-cycle' ? fallback.decide(snapshot) : null;
      const agent = course === 'life-cycle' ? actorOf(this.course) === 'agent' : true;
      const learns =
        course === 'online' || (course === 'life-cycle' && phaseOf(this.course) === 'online');
      const action = agent ? this.lifeCycleLearner.decide(input, mask, learns) : null;
      snapshot = system.step(action === null ? (fallen ?? before) : afterAction(before, action));
      const reward = awareReward(snapshot);
      const next = this.#input(snapshot);
      const done = action ?? actionOf(before, snapshot.allocation);
      this.#recorder.add(input, done, reward);
      if (action === null) {
        if (learns) this.lifeCycleLearner.cut(next);
        else if (mask[done] === 1)
          this.lifeCycleLearner.recordDemonstration({ input, mask, action: done, reward });
      } else if (learns) this.lifeCycleLearner.learn(action, reward, next);
      sums.earned += reward;
      sums.missed += Number(snapshot.preservation < 1);
      sums.preservation += snapshot.preservation;
      sums.cpu += snapshot.cpuUtilization;
      sums.memory += snapshot.memoryUtilization;
      sums.acted += Number(action !== null);
      input = next;
      if (course === 'life-cycle') this.#lived(snapshot, reward, input);
    }
    this.#snapshot = snapshot;
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
      updates: this.lifeCycleLearner.updates,
    };
  }

  #lived(snapshot: SystemSnapshot, reward: number, after: Float32Array): void {
    const outcome = { reward, sloPreservation: snapshot.preservation, arrivals: snapshot.rate > 0 };
    const trainOffline = (): number | null => this.lifeCycleLearner.trainOffline(after);
    const { state, transitions } = lifeCycleRunStep(
      this.course,
      outcome,
      trainOffline,
      DEFAULT_OVERRIDES,
      awareLifeCycle,
    );
    this.course = state;
    for (const transition of transitions) {
      this.transitions.push(transition);
      if (transition.from === 'online') this.lifeCycleLearner.cut(after);
      if (transition.to === 'offline' && transition.from === 'online')
        this.lifeCycleLearner.restart();
      // Another world: what was recorded, watched and remembered of the old one says nothing of it.
      if (transition.from === 'serving') {
        this.bundle.clear();
        this.lifeCycleLearner.forget();
      }
    }
  }

  dispose(): void {
    this.lifeCycleLearner.dispose();
  }
}

/** An episode of a rule-based controller; what it did, as the meta-learner reads it. */
export function controlledEpisode(
  system: AwareSystem,
  controller: Controller,
  first: SystemSnapshot | null,
): {
  readonly record: EpisodeRecord;
  readonly trajectory: Trajectory;
  readonly snapshot: SystemSnapshot;
} {
  const recorder = new TrajectoryRecorder(AWARE_FEATURES.length, AWARE_ACTIONS.length);
  const sums = { earned: 0, missed: 0, preservation: 0, cpu: 0, memory: 0 };
  const input = new Float32Array(AWARE_FEATURES.length);
  let snapshot = first ?? system.step(system.allocation);
  let typicalRate = snapshot.rate;
  let last = snapshot.rate;
  for (let step = 0; step < EPISODE_STEPS; step++) {
    typicalRate += 0.02 * (snapshot.rate - typicalRate);
    awareFeatures(snapshot, typicalRate, last, input);
    last = snapshot.rate;
    const before = snapshot.allocation;
    snapshot = system.step(controller.decide(snapshot));
    const reward = awareReward(snapshot);
    recorder.add(input, actionOf(before, snapshot.allocation), reward);
    sums.earned += reward;
    sums.missed += Number(snapshot.preservation < 1);
    sums.preservation += snapshot.preservation;
    sums.cpu += snapshot.cpuUtilization;
    sums.memory += snapshot.memoryUtilization;
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
    snapshot,
  };
}
