/** One episode: rows of features, the action as one-hot, and the reward. */
export interface Trajectory {
  readonly width: number;
  readonly rows: Float32Array;
  /** Mean reward a step. */
  readonly earned: number;
}

export const trajectorySteps = ({ rows, width }: Trajectory): number => rows.length / width;

/** Collects an episode step by step. */
export class TrajectoryRecorder {
  readonly width: number;
  readonly #features: number;
  readonly #actions: number;
  #rows: number[] = [];
  #sum = 0;
  #steps = 0;

  constructor(features: number, actions: number) {
    this.#features = features;
    this.#actions = actions;
    this.width = features + actions + 1;
  }

  get steps(): number {
    return this.#steps;
  }

  /** `input` starts with the features; what follows them (an embedding) is left out. */
  add(input: Float32Array, action: number, reward: number): void {
    for (let i = 0; i < this.#features; i++) this.#rows.push(input[i]!);
    for (let a = 0; a < this.#actions; a++) this.#rows.push(a === action ? 1 : 0);
    this.#rows.push(reward);
    this.#sum += reward;
    this.#steps++;
  }

  /** The episode so far; the next one begins. */
  take(): Trajectory {
    const { width } = this;
    const taken = {
      width,
      rows: Float32Array.from(this.#rows),
      earned: this.#steps > 0 ? this.#sum / this.#steps : 0,
    };
    this.#rows = [];
    this.#sum = 0;
    this.#steps = 0;
    return taken;
  }
}

/** The M trajectories that earned most so far [AWARE]; of equals the newer come first. */
export class TrajectoryBundle {
  readonly #most: number;
  #best: Trajectory[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  get trajectories(): readonly Trajectory[] {
    return this.#best;
  }

  add(trajectory: Trajectory): void {
    if (!Number.isFinite(trajectory.earned) || trajectory.rows.length === 0) return;
    this.#best = [trajectory, ...this.#best]
      .sort((a, b) => b.earned - a.earned)
      .slice(0, this.#most);
  }

  clear(): void {
    this.#best = [];
  }
}
