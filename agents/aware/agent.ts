import type { Observation } from '../../broker/messages/index.js';
import type { FunctionEmbedding } from './function-embedding.js';
import {
  type ActingWeights,
  actorOf,
  type LifeCycleChoice,
  type LifeCycleLearner,
  type LifeCycleOverrides,
  type LifeCycleRunState,
  type LifeCycleRunStep,
  type LifeCycleSettings,
  type LifeCycleTransition,
  lifeCycleRunStep,
  type Outcome,
  phaseOf,
} from './life-cycle/index.js';
import { mostSimilar } from './meta-learner/index.js';

/** Cosine from which another function's agent is a better start than the shipped policy. */
const MIN_SIMILARITY = 0.9;

export interface AwareStep {
  readonly input: Float32Array;
  readonly mask: Uint8Array;
  /** The action that was executed, or the one nearest to what the fallback did. */
  readonly action: number;
  /** The agent's choice; null: the fallback acted. */
  readonly choice: LifeCycleChoice | null;
  readonly reward: number;
  /** Steps of one host are one trajectory. */
  readonly host: string;
}

/** One function's AWARE agent: its decisions, its learning, and its changes of phase. */
export class AwareAgent {
  readonly learner: LifeCycleLearner;
  /** Null: without the meta-learner. */
  readonly embedding: FunctionEmbedding | null;
  mode: Observation['cpuMode'];
  /** It has converged, so that other agents may start from its weights. */
  isServing = false;
  /** It continues a saved agent, so that it starts from no other one's weights. */
  #isRestored = false;

  constructor(
    learner: LifeCycleLearner,
    embedding: FunctionEmbedding | null,
    mode: Observation['cpuMode'] = 'quota',
  ) {
    this.learner = learner;
    this.embedding = embedding;
    this.mode = mode;
  }

  /** The networks' input: features, then the embedding, which is constant during an episode. */
  input(features: Float32Array): Float32Array {
    if (this.embedding === null) return features;
    const { value } = this.embedding;
    const input = new Float32Array(features.length + value.length);
    input.set(features);
    input.set(value, features.length);
    return input;
  }

  /** Continues a saved agent; false: it is of other networks, or of another meta-learner. */
  load(weights: ActingWeights, embedding: Float32Array | null): boolean {
    if (embedding !== null && this.embedding?.load(embedding) !== true) return false;
    this.#isRestored = this.learner.adopt(weights);
    return this.#isRestored;
  }

  /** The agent's choice; null if the fallback decides or no action is allowed. */
  decide(run: LifeCycleRunState, input: Float32Array, mask: Uint8Array): LifeCycleChoice | null {
    if (actorOf(run) !== 'agent') return null;
    return this.learner.decide(input, mask, phaseOf(run) === 'online');
  }

  /** Online it learns from its own steps, otherwise it records what the fallback does. */
  learn(run: LifeCycleRunState, step: AwareStep, after: Float32Array): void {
    const { input, mask, action, choice, reward, host } = step;
    const learns = phaseOf(run) === 'online';
    if (choice === null) {
      if (learns || mask[action] !== 1) this.learner.cut(host);
      else this.learner.recordDemonstration({ input, mask, action, reward }, after, host);
      return;
    }
    if (!learns) return;
    const logProbability = choice.logProbabilities?.[action] ?? null;
    this.learner.learn({ input, mask, action, reward, logProbability }, after, host);
  }

  /**
   * One step of the life cycle; `others`: agents that it may start from after its first episode.
   */
  advance(
    run: LifeCycleRunState,
    outcome: Outcome,
    overrides: LifeCycleOverrides,
    settings: LifeCycleSettings,
    others: Iterable<AwareAgent> = [],
  ): LifeCycleRunStep {
    const trainOffline = (): number | null => {
      const isNew = !this.#isRestored && this.embedding?.trajectories.length === 1;
      if (isNew) this.beginFromMostSimilar(others);
      return this.learner.trainOffline();
    };
    const step = lifeCycleRunStep(run, outcome, trainOffline, overrides, settings);
    for (const transition of step.transitions) this.enter(transition);
    // After a change of the workload the last episode is the first that describes the new one.
    if (step.ended) this.embedding?.close();
    return step;
  }

  enter({ from, to }: LifeCycleTransition): void {
    if (from === 'initialized') return;
    if (from === 'offline') this.learner.begin();
    if (from === 'online') this.learner.cut();
    if (to === 'offline') this.learner.restart();
    if (from !== 'serving') return;
    this.learner.forget();
    this.embedding?.forget();
  }

  /** Takes the most similar serving agent's weights; false if none is similar enough. */
  beginFromMostSimilar(others: Iterable<AwareAgent>): boolean {
    if (this.embedding === null) return false;
    const candidates: { embedding: Float32Array; learner: LifeCycleLearner }[] = [];
    for (const { mode, isServing, embedding, learner } of others)
      if (learner !== this.learner && isServing && mode === this.mode && embedding !== null)
        candidates.push({ embedding: embedding.value, learner });
    const best = mostSimilar(this.embedding.value, candidates);
    if (best === null || best.similarity < MIN_SIMILARITY) return false;
    return this.learner.adopt(best.entry.learner.weights());
  }
}
