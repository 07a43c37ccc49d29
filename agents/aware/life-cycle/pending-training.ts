/**
 * One apprentice's lessons that are learned elsewhere, one at a time. What one brings is taken up
 * only while the apprentice is still what it was when the lesson began: after `another` it comes
 * too late.
 */
export class PendingTraining {
  /** A lesson is under way. */
  busy = false;
  #life = 0;
  /** Of the newest study, until it is asked for. */
  #estimatedGain: number | null = null;

  invalidate(): void {
    this.#life++;
    this.#estimatedGain = null;
  }

  /**
   * Begins a study where no lesson is under way; what is watched meanwhile is in the next. Returns
   * what the study that ended last came to, and none of it twice.
   */
  trainOffline<State>(
    begin: () => Promise<{ readonly state: State; readonly estimatedGain: number | null } | null>,
    take: (state: State) => void,
  ): number | null {
    const known = this.#estimatedGain;
    this.#estimatedGain = null;
    if (!this.busy) {
      this.begin(begin(), ({ state, estimatedGain }) => {
        take(state);
        this.#estimatedGain = estimatedGain;
      });
    }
    return known;
  }

  /** `learning`: null where nothing was learned; it must not reject. */
  begin<Result>(training: Promise<Result | null>, take: (result: Result) => void): void {
    const life = this.#life;
    this.busy = true;
    void training.then((result) => {
      this.busy = false;
      if (result !== null && life === this.#life) take(result);
    });
  }
}
