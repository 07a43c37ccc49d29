import type { DemonstratedEpisode, Demonstration } from './demonstration.js';
import { StepsByHost } from './steps-by-host.js';

/** The newest episodes of the fallback that an agent learns from. */
const EPISODES_MAX = 12;

interface Trained<State> {
  readonly state: State;
  readonly estimatedGain: number | null;
}

/**
 * The fallback's episodes and the training on them, here or in another thread, one job at a time. A
 * result that arrives after `invalidate` is dropped.
 */
export class PendingTraining {
  busy = false;
  episodes: readonly DemonstratedEpisode[] = [];
  /** Of the running episode. */
  readonly steps = new StepsByHost<Demonstration>();
  #epoch = 0;
  /** The newest result's estimate, until it is read. */
  #estimatedGain: number | null = null;

  /** The steps of the episode; null without any. */
  endEpisode(): DemonstratedEpisode | null {
    const episode = this.steps.take();
    if (episode.length === 0) return null;
    this.episodes = [...this.episodes, episode].slice(-EPISODES_MAX);
    return episode;
  }

  invalidate(): void {
    this.#epoch++;
    this.#estimatedGain = null;
  }

  forget(): void {
    this.invalidate();
    this.episodes = [];
    this.steps.take();
  }

  /**
   * Trains unless a job is running; steps recorded meanwhile are part of the next. Returns the
   * newest finished estimate, each once.
   */
  trainOffline<State>(
    train: () => Trained<State> | Promise<Trained<State> | null>,
    take: (state: State) => void,
  ): number | null {
    const known = this.#estimatedGain;
    this.#estimatedGain = null;
    if (this.busy) return known;
    const trained = train();
    if (!(trained instanceof Promise)) {
      take(trained.state);
      return trained.estimatedGain;
    }
    this.begin(trained, ({ state, estimatedGain }) => {
      take(state);
      this.#estimatedGain = estimatedGain;
    });
    return known;
  }

  /** `training` gives null if nothing was learned; it must not reject. */
  begin<Result>(training: Promise<Result | null>, take: (result: Result) => void): void {
    const epoch = this.#epoch;
    this.busy = true;
    void training.then((result) => {
      this.busy = false;
      if (result !== null && epoch === this.#epoch) take(result);
    });
  }
}
