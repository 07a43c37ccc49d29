import { LRUCache } from 'lru-cache';

/** Steps of an episode that is not cut before [AWARE artifact]. */
const EPISODE_STEPS_MAX = 200;
/** Trajectories that are counted; a forgotten one starts at 0 again. */
const TRAJECTORIES_MAX = 50_000;

export interface Place {
  readonly episode: number;
  readonly step: number;
}

/** Counts the steps and episodes of each trajectory, a function on a host. */
export class EpisodeCounter {
  readonly #next = new LRUCache<string, Place>({ max: TRAJECTORIES_MAX });

  /** Returns the place of this step and moves on to the next. */
  take(trajectory: string): Place {
    const now = this.#next.get(trajectory) ?? { episode: 0, step: 0 };
    const ends = now.step + 1 === EPISODE_STEPS_MAX;
    this.#next.set(
      trajectory,
      ends ? { episode: now.episode + 1, step: 0 } : { ...now, step: now.step + 1 },
    );
    return now;
  }

  /** The next step does not follow from the last. */
  cut(trajectory: string): void {
    const before = this.#next.get(trajectory);
    if (before !== undefined && before.step > 0)
      this.#next.set(trajectory, { episode: before.episode + 1, step: 0 });
  }
}
