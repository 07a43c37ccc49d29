/**
 * One apprentice's lessons that are learnt elsewhere, one at a time. What one brings is taken up only while the apprentice is still what it was when the
 * lesson began: after `another` it comes too late.
 */
export class Tuition {
  /** A lesson is under way. */
  busy = false;
  #life = 0;

  another(): void {
    this.#life++;
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
