import type { Observation } from '../../broker/messages/index.js';
import {
  type Encoder,
  type KnownRates,
  META_FEATURES,
  metaFeatures,
  metaReward,
  rateOf,
  ratesAfter,
  TrajectoryBundle,
  TrajectoryRecorder,
} from './meta-learner/index.js';

/**
 * Trajectories of a bundle (simppo-aware.md §3.5); from so many an embedding hardly changes, and is
 * looked at every so many episodes.
 */
const BUNDLE = 20;
const FEW = 5;
const REFRESHED = 5;

/**
 * What one function's trajectories look like, as the meta-learner reads them: its embedding,
 * computed at the end of an episode and held.
 */
export class FunctionEmbedding {
  readonly #encoder: Encoder;
  readonly #recorder: TrajectoryRecorder;
  readonly #bundle = new TrajectoryBundle(BUNDLE);
  #rates: KnownRates = { usual: Number.NaN, last: Number.NaN };
  #features: Float32Array | null = null;
  /** The host that is looked at; steps of several are no trajectory. */
  #host: string | null = null;
  #episodes = 0;
  /** Zeros until an episode is over. */
  value: Float32Array;

  constructor(encoder: Encoder, actions: number) {
    this.#encoder = encoder;
    this.#recorder = new TrajectoryRecorder(META_FEATURES, actions);
    this.value = new Float32Array(encoder.shape.embedding);
  }

  /** Episodes that it rests on, at most those of a bundle. */
  get episodes(): number {
    return this.#bundle.trajectories.length;
  }

  /**
   * A step is over: `action` led from what was seen before to this. Null: it cannot be said what
   * was done.
   */
  see(observation: Observation, action: number | null): void {
    this.#host ??= observation.host;
    if (observation.host !== this.#host) return;
    const features = metaFeatures(observation, this.#rates);
    this.#rates = ratesAfter(this.#rates, rateOf(observation));
    if (this.#features !== null && action !== null)
      this.#recorder.add(this.#features, action, metaReward(features));
    this.#features = features;
  }

  /** The episode is over. */
  close(): void {
    // Its host may be another by now.
    this.#host = null;
    this.#features = null;
    if (this.#recorder.steps === 0) return;
    this.#bundle.add(this.#recorder.take());
    if (this.episodes <= FEW || this.#episodes++ % REFRESHED === 0)
      this.value = this.#encoder.embed(this.#bundle.trajectories);
  }

  /** Another world: what was recorded says nothing of it. */
  forget(): void {
    this.#bundle.clear();
  }
}
