import type { Random } from '../../config/index.js';
import { ShapeError } from '../nn/index.js';

/** One step, as it was executed: also where the safeguard clipped. */
export interface Experience {
  readonly state: Float32Array;
  /** What was done, each in [-1, 1]. */
  readonly action: Float32Array;
  readonly reward: number;
  readonly next: Float32Array;
  /**
   * Weight of what follows: 0 at a real end, `DdpgSettings.gamma` for a step of ordinary length.
   */
  readonly discount: number;
}

export interface ReplayBatch {
  readonly rows: number;
  readonly states: Float32Array;
  readonly actions: Float32Array;
  readonly rewards: Float32Array;
  readonly next: Float32Array;
  readonly discounts: Float32Array;
}

/** All that is remembered, in plain data: of `written` steps the last ones, each at its place. */
export interface ReplayData {
  readonly data: Float32Array;
  readonly written: number;
}

/** The last steps, in typed arrays that grow with them up to a bound; the oldest go first. */
export class ReplayMemory {
  readonly #bound: number;
  readonly #features: number;
  readonly #actions: number;
  readonly #row: number;
  #data: Float32Array;
  #written = 0;

  constructor(bound: number, features: number, actions: number) {
    this.#bound = bound;
    this.#features = features;
    this.#actions = actions;
    this.#row = 2 * features + actions + 2;
    this.#data = new Float32Array(Math.min(bound, 256) * this.#row);
  }

  get size(): number {
    return Math.min(this.#written, this.#bound);
  }

  /** False: something is not finite, and nothing is remembered. */
  add({ state, action, reward, next, discount }: Experience): boolean {
    if (
      state.length !== this.#features ||
      next.length !== this.#features ||
      action.length !== this.#actions
    )
      throw new ShapeError(
        `a step of ${state.length}, ${action.length} and ${next.length} numbers`,
      );
    const finite =
      Number.isFinite(reward) && [state, action, next].every((part) => part.every(Number.isFinite));
    if (!finite) return false;
    const at = (this.#written % this.#bound) * this.#row;
    if (at >= this.#data.length) {
      const larger = new Float32Array(Math.min(2 * this.#data.length, this.#bound * this.#row));
      larger.set(this.#data);
      this.#data = larger;
    }
    const data = this.#data;
    data.set(state, at);
    data.set(action, at + this.#features);
    data.set(next, at + this.#features + this.#actions);
    data[at + this.#row - 2] = reward;
    data[at + this.#row - 1] = discount;
    this.#written++;
    return true;
  }

  export(): ReplayData {
    return { data: this.#data.slice(0, this.size * this.#row), written: this.#written };
  }

  /** Throws `GLN_NN_SHAPE` where it is of another memory's rows or bound. */
  import({ data, written }: ReplayData): void {
    if (data.length !== Math.min(written, this.#bound) * this.#row)
      throw new ShapeError(`${data.length} numbers of ${written} steps`);
    this.#data = new Float32Array(Math.max(data.length, this.#data.length));
    this.#data.set(data);
    this.#written = written;
  }

  sample(rows: number, random: Random): ReplayBatch {
    const features = this.#features;
    const actions = this.#actions;
    const batch: ReplayBatch = {
      rows,
      states: new Float32Array(rows * features),
      actions: new Float32Array(rows * actions),
      rewards: new Float32Array(rows),
      next: new Float32Array(rows * features),
      discounts: new Float32Array(rows),
    };
    for (let row = 0; row < rows; row++) {
      const at = random.below(this.size) * this.#row;
      const part = (from: number, length: number): Float32Array =>
        this.#data.subarray(at + from, at + from + length);
      batch.states.set(part(0, features), row * features);
      batch.actions.set(part(features, actions), row * actions);
      batch.next.set(part(features + actions, features), row * features);
      batch.rewards[row] = this.#data[at + this.#row - 2]!;
      batch.discounts[row] = this.#data[at + this.#row - 1]!;
    }
    return batch;
  }
}
