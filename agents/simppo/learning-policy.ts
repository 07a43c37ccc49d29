import type { Engine, Network } from '../nn/index.js';
import {
  type LearnerState,
  Policy,
  type PpoAgentShape,
  type PpoMetrics,
  ppoShapes,
  Rollout,
  type Trainer,
  type Transition,
} from '../ppo/index.js';
import type { Held } from './actions.js';
import type { SimppoSettings } from './settings.js';

/** A decided step without its outcome. */
export interface Pending {
  readonly input: Float32Array;
  readonly mask: Uint8Array;
  readonly action: number;
  /** Each action's log-probability when it was decided. */
  readonly logProbabilities: readonly number[];
  readonly at: number;
  /** What was held before it, and whether it took the last step back. */
  readonly held: Held;
  readonly reversed: boolean;
  /** Sampled from the policy: an on-policy learner uses only such steps. */
  readonly sampled: boolean;
}

/** Open trajectories; beyond this the oldest is cut, as its function has probably gone. */
const OPEN_MAX = 50_000;

interface Open {
  steps: Transition[];
  pending: Pending | null;
}

export interface LearningPolicyOptions {
  readonly engine: Engine;
  readonly shape: PpoAgentShape;
  readonly settings: SimppoSettings;
  readonly trainer: Trainer;
  readonly state: LearnerState;
  readonly seed: number;
  readonly onUpdate?: (metrics: PpoMetrics) => void;
}

/** One actor and its training data. Each function on a host is its own trajectory. */
export class LearningPolicy {
  readonly policy: Policy;
  updates = 0;
  readonly #actor: Network;
  readonly #options: LearningPolicyOptions;
  readonly #open = new Map<string, Open>();
  readonly #closed: { steps: Transition[]; after: Float32Array }[] = [];
  #state: LearnerState;
  #rows = 0;
  /** When the oldest of these rows was decided. */
  #since = 0;
  #training = false;
  #disposed = false;

  constructor(options: LearningPolicyOptions) {
    const { engine, shape, settings, state } = options;
    this.#options = options;
    this.#state = state;
    this.#actor = engine.network(ppoShapes(shape, settings.ppo).actor);
    this.#actor.import(state.actor);
    this.policy = new Policy(this.#actor);
  }

  get state(): LearnerState {
    return this.#state;
  }

  pending(trajectory: string): Pending | null {
    return this.#open.get(trajectory)?.pending ?? null;
  }

  /** The pending step as executed; null: none, or the executed action was masked. */
  record(trajectory: string, action: number, reward: number, discount: number): Transition | null {
    const open = this.#open.get(trajectory);
    if (!open?.pending) return null;
    const { input, mask, logProbabilities, at, sampled } = open.pending;
    const logProbability = logProbabilities[action]!;
    if (logProbability === Number.NEGATIVE_INFINITY || !Number.isFinite(reward)) {
      this.cut(trajectory);
      return null;
    }
    const step = { input, mask, action, logProbability, reward, discount };
    if (sampled) {
      open.steps.push(step);
      if (this.#rows++ === 0) this.#since = at;
    }
    return step;
  }

  /** The next step of a trajectory has been decided. */
  decided(trajectory: string, pending: Pending): void {
    const open = this.#open.get(trajectory);
    if (open === undefined) {
      if (this.#open.size >= OPEN_MAX) this.cut(this.#open.keys().next().value!);
      this.#open.set(trajectory, { steps: [], pending });
    } else {
      // A step that was not sampled ends the segment.
      if (!pending.sampled && open.steps.length > 0) {
        this.#closed.push({ steps: open.steps, after: pending.input });
        open.steps = [];
      }
      open.pending = pending;
    }
    if (!this.#training && this.#enough(pending.at)) this.#train();
  }

  /**
   * Ends a trajectory: the critic's value of the last state stands for the steps after it. `after`:
   * that state, if the pending step has been recorded.
   */
  cut(trajectory: string, after?: Float32Array): void {
    const open = this.#open.get(trajectory);
    this.#open.delete(trajectory);
    if (open?.pending && open.steps.length > 0)
      this.#closed.push({ steps: open.steps, after: after ?? open.pending.input });
  }

  /** The function's next steps belong to another policy. */
  cutFunction(fn: string): void {
    for (const trajectory of [...this.#open.keys()])
      if (trajectory.startsWith(`${fn} `)) this.cut(trajectory);
  }

  cutAll(): void {
    for (const trajectory of [...this.#open.keys()]) this.cut(trajectory);
  }

  import(state: LearnerState): void {
    this.#state = state;
    this.#actor.import(state.actor);
  }

  dispose(): void {
    this.#disposed = true;
    this.#actor.dispose();
  }

  #enough(now: number): boolean {
    const { batch, minBatch, batchMs } = this.#options.settings;
    return this.#rows >= batch || (this.#rows >= minBatch && now - this.#since >= batchMs);
  }

  #train(): void {
    for (const open of this.#open.values()) {
      if (open.steps.length === 0 || open.pending === null) continue;
      this.#closed.push({ steps: open.steps, after: open.pending.input });
      open.steps = [];
    }
    const { shape, settings, seed, trainer, onUpdate } = this.#options;
    const trajectories = this.#closed.splice(0);
    const rows = trajectories.reduce((sum, { steps }) => sum + steps.length, 0);
    const rollout = new Rollout(rows, shape);
    for (const { steps, after } of trajectories) {
      for (const step of steps) rollout.add(step);
      rollout.cut(after);
    }
    this.#rows = 0;
    this.#training = true;
    const job = {
      state: this.#state,
      rollout: rollout.export(),
      shape,
      settings: settings.ppo,
      seed,
    };
    trainer.train(job, (result) => {
      this.#training = false;
      // The thread may answer after the function was forgotten.
      if (result === null || this.#disposed) return;
      this.updates++;
      this.import(result.state);
      onUpdate?.(result.metrics);
    });
  }
}
