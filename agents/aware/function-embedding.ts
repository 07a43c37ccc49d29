import type { Observation } from '../../broker/messages/index.js';
import {
  type Encoder,
  type KnownRates,
  META_FEATURES,
  metaFeatures,
  metaReward,
  metaStepOf,
  NO_RATES,
  type Trajectory,
  TrajectoryBundle,
  TrajectoryRecorder,
} from './meta-learner/index.js';

/** Trajectories in a bundle [AWARE]. */
const BUNDLE = 20;
/** From this many trajectories on an embedding hardly changes and is computed less often. */
const FEW = 5;
/** Episodes between two computations then. */
const REFRESHED = 5;

/** One function's embedding: computed from its episodes when one ends, and held until the next. */
export class FunctionEmbedding {
  readonly #encoder: Encoder;
  readonly #recorder: TrajectoryRecorder;
  readonly #bundle = new TrajectoryBundle(BUNDLE);
  #rates: KnownRates = NO_RATES;
  #features: Float32Array | null = null;
  /** The host whose steps are recorded: steps of several hosts are not one trajectory. */
  #host: string | null = null;
  #computed = 0;
  /** The value is a saved one, whose episodes are not known. */
  #isLoaded = false;
  /** Zeros until an episode is over. */
  value: Float32Array;

  constructor(encoder: Encoder, actions: number) {
    this.#encoder = encoder;
    this.#recorder = new TrajectoryRecorder(META_FEATURES.length, actions);
    this.value = new Float32Array(encoder.shape.embedding);
  }

  /** The best episodes so far, at most those of a bundle. */
  get trajectories(): readonly Trajectory[] {
    return this.#bundle.trajectories;
  }

  /** Continues with a saved value until there are a few episodes; false: of another length. */
  load(value: Float32Array): boolean {
    if (value.length !== this.value.length) return false;
    this.value = value;
    this.#isLoaded = true;
    return true;
  }

  /** A step of a live function: `action` led from the last observation to this one. */
  observe(observation: Observation, action: number | null): void {
    this.#host ??= observation.host;
    if (observation.host !== this.#host) return;
    const step = metaStepOf(observation);
    const features = new Float32Array(META_FEATURES.length);
    this.#rates = metaFeatures(step, this.#rates, features);
    if (this.#features !== null && action !== null)
      this.record(this.#features, action, metaReward(step));
    this.#features = features;
  }

  /** One step: the features before it (others may follow them), the action and its reward. */
  record(features: Float32Array, action: number, reward: number): void {
    this.#recorder.add(features, action, reward);
  }

  close(): void {
    // The next episode may be recorded on another host.
    this.#host = null;
    this.#features = null;
    if (this.#recorder.steps > 0) this.add([this.#recorder.take()]);
  }

  /** Adds whole episodes, as those of a function that is known already. */
  add(trajectories: readonly Trajectory[]): void {
    for (const trajectory of trajectories) this.#bundle.add(trajectory);
    if (this.#isLoaded && this.trajectories.length < FEW) return;
    this.#isLoaded = false;
    const few = this.trajectories.length <= FEW;
    if (few || this.#computed++ % REFRESHED === 0)
      this.value = this.#encoder.embed(this.trajectories);
  }

  /** The workload has changed: earlier episodes do not describe it. */
  forget(): void {
    this.#bundle.clear();
    this.#isLoaded = false;
  }
}
