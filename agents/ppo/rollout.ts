import { ShapeError } from '../nn/index.js';

/** One step as it was executed, also if the safeguard chose another action. */
export interface Transition {
  readonly input: Float32Array;
  /** 1 allowed, 0 masked, when it was decided. */
  readonly mask: Uint8Array;
  readonly action: number;
  /** ln of the executed action's probability under the policy that decided, with that mask. */
  readonly logProbability: number;
  readonly reward: number;
  /** Weight of what follows; `PpoSettings.gamma` for a step of ordinary length. */
  readonly discount: number;
}

/** Consecutive rows. `after`: the next input; null: the task ended. */
export interface Segment {
  readonly from: number;
  readonly to: number;
  readonly after: Float32Array | null;
}

export interface RolloutWidths {
  readonly features: number;
  readonly actions: number;
}

/** A rollout as plain arrays, for another thread. */
export interface RolloutData {
  readonly widths: RolloutWidths;
  readonly rows: number;
  readonly inputs: Float32Array;
  readonly masks: Uint8Array;
  readonly actions: Int32Array;
  readonly logProbabilities: Float32Array;
  readonly rewards: Float32Array;
  readonly discounts: Float32Array;
  readonly segments: readonly Segment[];
}

/**
 * Transitions in rows of typed arrays. A segment is closed by `cut` where only the recording ends,
 * and by `end` if nothing follows.
 */
export class Rollout {
  readonly capacity: number;
  readonly actions: Int32Array;
  readonly logProbabilities: Float32Array;
  readonly rewards: Float32Array;
  readonly discounts: Float32Array;
  readonly #widths: RolloutWidths;
  readonly #inputs: Float32Array;
  readonly #masks: Uint8Array;
  readonly #segments: Segment[] = [];
  #rows = 0;
  #open = 0;

  constructor(capacity: number, widths: RolloutWidths) {
    this.capacity = capacity;
    this.#widths = widths;
    this.#inputs = new Float32Array(capacity * widths.features);
    this.#masks = new Uint8Array(capacity * widths.actions);
    this.actions = new Int32Array(capacity);
    this.logProbabilities = new Float32Array(capacity);
    this.rewards = new Float32Array(capacity);
    this.discounts = new Float32Array(capacity);
  }

  get rows(): number {
    return this.#rows;
  }
  get full(): boolean {
    return this.#rows === this.capacity;
  }
  /** Rows that no segment holds yet. */
  get open(): number {
    return this.#rows - this.#open;
  }
  get segments(): readonly Segment[] {
    return this.#segments;
  }
  get inputs(): Float32Array {
    return this.#inputs.subarray(0, this.#rows * this.#widths.features);
  }
  get masks(): Uint8Array {
    return this.#masks.subarray(0, this.#rows * this.#widths.actions);
  }

  add(transition: Transition): void {
    const { input, mask, action, logProbability, reward, discount } = transition;
    const { features, actions } = this.#widths;
    if (this.full) throw new ShapeError(`a rollout of ${this.capacity} rows is full`);
    if (input.length !== features || mask.length !== actions)
      throw new ShapeError(`a transition of ${input.length} and ${mask.length} numbers`);
    if (mask[action] !== 1)
      throw new ShapeError(`action ${action} was masked, it cannot have been executed`);
    const row = this.#rows++;
    this.#inputs.set(input, row * features);
    this.#masks.set(mask, row * actions);
    this.actions[row] = action;
    this.logProbabilities[row] = logProbability;
    this.rewards[row] = reward;
    this.discounts[row] = discount;
  }

  /** The recording stops here, the task does not: `after` is what the critic sees next. */
  cut(after: Float32Array): void {
    if (after.length !== this.#widths.features)
      throw new ShapeError(`a critic's input of ${after.length} numbers`);
    this.#close(after.slice());
  }

  end(): void {
    this.#close(null);
  }

  clear(): void {
    this.#rows = 0;
    this.#open = 0;
    this.#segments.length = 0;
  }

  #close(after: Float32Array | null): void {
    if (this.open === 0) return;
    this.#segments.push({ from: this.#open, to: this.#rows, after });
    this.#open = this.#rows;
  }

  /** A copy of the rows there are. */
  export(): RolloutData {
    const some = <T extends Float32Array | Int32Array>(of: T): T => of.slice(0, this.#rows) as T;
    return {
      widths: this.#widths,
      rows: this.#rows,
      inputs: this.inputs.slice(),
      masks: this.masks.slice(),
      actions: some(this.actions),
      logProbabilities: some(this.logProbabilities),
      rewards: some(this.rewards),
      discounts: some(this.discounts),
      segments: [...this.#segments],
    };
  }

  /** What `export` has given, as a full rollout. */
  static from(data: RolloutData): Rollout {
    const rollout = new Rollout(data.rows, data.widths);
    rollout.#inputs.set(data.inputs);
    rollout.#masks.set(data.masks);
    for (const name of ['actions', 'logProbabilities', 'rewards', 'discounts'] as const)
      rollout[name].set(data[name]);
    rollout.#segments.push(...data.segments);
    rollout.#rows = data.rows;
    rollout.#open = data.segments.at(-1)?.to ?? 0;
    return rollout;
  }
}
