/**
 * One apprentice's lessons that are learnt elsewhere, one at a time. What one brings is taken up only while the apprentice is still what it was when the
 * lesson began: after `another` it comes too late.
 */
export class Tuition {
  /** A lesson is under way. */
  busy = false;
  #life = 0;
  /** Of the newest study, until it is asked for. */
  #ahead: number | null = null;

  another(): void {
    this.#life++;
    this.#ahead = null;
  }

  /** Begins a study where no lesson is under way; what is watched meanwhile is in the next. Returns what the study that ended last came to, and none of it twice. */
  study<State>(
    begin: () => Promise<{ readonly state: State; readonly ahead: number | null } | null>,
    take: (state: State) => void,
  ): number | null {
    const known = this.#ahead;
    this.#ahead = null;
    if (!this.busy) {
      this.begin(begin(), ({ state, ahead }) => {
        take(state);
        this.#ahead = ahead;
      });
    }
    return known;
  }

  /** `learning`: null where nothing was learnt; it must not reject. */
  begin<Learnt>(learning: Promise<Learnt | null>, take: (learnt: Learnt) => void): void {
    const life = this.#life;
    this.busy = true;
    void learning.then((learnt) => {
      this.busy = false;
      if (learnt !== null && life === this.#life) take(learnt);
    });
  }
}
