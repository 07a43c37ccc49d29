/** Training in another thread, one job at a time; a result is dropped after `invalidate`. */
export class PendingTraining {
  busy = false;
  #epoch = 0;
  /** Of the newest result, until it is read. */
  #estimatedGain: number | null = null;

  invalidate(): void {
    this.#epoch++;
    this.#estimatedGain = null;
  }

  /** Begins a job unless one is running. Returns the newest finished estimate, each once. */
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
