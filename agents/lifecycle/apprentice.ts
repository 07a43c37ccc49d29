import { type Random, SeededRandom } from '../../config/index.js';
import type { Engine } from '../nn/index.js';
import { type LearnerState, PpoAgent, type PpoSettings } from '../ppo/index.js';
import type { DemonstratedEpisode, Demonstration } from './demonstration.js';
import { learnOffline, type OfflineSettings } from './offline.js';

export interface ApprenticeOptions {
  readonly engine: Engine;
  /** Numbers that change from step to step, and how many follow that do not (an embedding). */
  readonly features: number;
  readonly context: number;
  readonly actions: number;
  readonly ppo: PpoSettings;
  readonly offline: OfflineSettings;
  /** Steps of one update while online. */
  readonly batch: number;
  readonly seed: number;
  /** What it starts from; null: nothing. */
  readonly start: LearnerState | null;
}

/** Episodes that are learnt from offline at most, the newest. */
const WATCHED_MOST = 12;

/**
 * One function's agent, whatever acts: it watches the fallback and learns offline, acts and learns online, or only acts. The same seed and steps,
 * the same agent.
 */
export class Apprentice {
  readonly agent: PpoAgent;
  /** Updates made online. */
  updates = 0;
  readonly #options: ApprenticeOptions;
  readonly #random: Random;
  #watched: DemonstratedEpisode[] = [];
  #steps: Demonstration[] = [];
  #evenings = 0;
  #trajectory = '';
  #after: Float32Array | null = null;

  constructor(options: ApprenticeOptions) {
    const { engine, features, context, actions, ppo, batch, seed, start } = options;
    this.#options = options;
    this.#random = new SeededRandom(seed);
    const shape = { features: features + context, actions };
    this.agent = new PpoAgent({ engine, shape, settings: ppo, rollout: batch, random: this.#random.fork('agent') });
    if (start !== null) this.agent.import(start);
  }

  /** The fallback took a step. */
  watch(step: Demonstration): void {
    this.#steps.push(step);
  }

  /** The watched episode is over; `after` is what was seen behind it. Returns what the agent would have earned, once it can tell. */
  study(after: Float32Array): number | null {
    if (this.#steps.length === 0) return null;
    this.#watched = [...this.#watched, { steps: this.#steps, after }].slice(-WATCHED_MOST);
    this.#steps = [];
    const { engine, features, context, actions, ppo, offline, seed, start } = this.#options;
    const { state, estimate } = learnOffline(engine, {
      shape: { features: features + context, actions },
      features,
      ppo,
      settings: offline,
      state: this.agent.export(),
      episodes: this.#watched,
      clone: start === null,
      seed: (seed + ++this.#evenings) >>> 0,
    });
    this.agent.import(state);
    return estimate;
  }

  /** Samples while it learns; else its best action. Null: no sound action, and who asks decides otherwise. */
  decide(input: Float32Array, mask: Uint8Array, learns: boolean): number | null {
    return this.agent.decide(input, mask, { greedy: !learns }).action;
  }

  /** Decides the same again: what is learnt next belongs to this step. */
  recall(input: Float32Array, mask: Uint8Array): void {
    this.agent.decide(input, mask, { greedy: true });
  }

  /** What the decided action brought. Steps of another `trajectory` than the last one's begin a segment of their own. */
  learn(action: number, reward: number, after: Float32Array, trajectory = ''): void {
    if (trajectory !== this.#trajectory && this.#after !== null) this.agent.cut(this.#after);
    this.#trajectory = trajectory;
    this.#after = after;
    this.agent.executed(action, reward);
    if (!this.agent.rollout.full) return;
    this.agent.cut(after);
    this.agent.update();
    this.updates++;
  }

  /** What comes next has nothing to do with what was. */
  cut(after: Float32Array): void {
    this.agent.cut(after);
    // A segment that fills the buffer must be learnt from before the next step.
    if (!this.agent.ready) return;
    this.agent.update();
    this.updates++;
  }

  /** Worse than the fallback: it begins again where it began, and watches anew. */
  restart(): void {
    this.forget();
    if (this.#options.start !== null) this.agent.import(this.#options.start);
  }

  /** What was watched is of another world. */
  forget(): void {
    this.#watched = [];
    this.#steps = [];
  }

  dispose(): void {
    this.agent.dispose();
  }
}
