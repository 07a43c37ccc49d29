import { millis, systemClock } from '../../config/index.js';
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

/** A step that was decided and whose outcome is not known yet. */
export interface Pending {
  readonly input: Float32Array;
  readonly mask: Uint8Array;
  readonly action: number;
  /** Of every action, when it was decided. */
  readonly logProbabilities: Float64Array;
  readonly at: number;
  /** What was held before it, and whether it took the last step back. */
  readonly held: Held;
  readonly reversed: boolean;
  /** Drawn from the policy: only such a step teaches an on-policy learner. */
  readonly sampled: boolean;
}

/**
 * Trajectories that wait for their next step; the oldest is cut where there are more (functions
 * that have gone).
 */
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

/**
 * One actor that decides for one function, or for many, and what it learns from: steps are kept by
 * function and host, as each has a trajectory of its own, and make one batch together.
 */
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
    this.policy = new Policy(this.#actor, {
      clock: systemClock,
      deadline: millis(Number.POSITIVE_INFINITY),
    });
  }

  get state(): LearnerState {
    return this.#state;
  }

  pending(trajectory: string): Pending | null {
    return this.#open.get(trajectory)?.pending ?? null;
  }

  /**
   * What came of the pending step. An action that was masked then teaches an on-policy learner
   * nothing; null: so it was, or nothing was pending. The step is for whoever else learns.
   */
  record(trajectory: string, action: number, reward: number, discount: number): Transition | null {
    const open = this.#open.get(trajectory);
    if (!open?.pending) return null;
    const { input, mask, logProbabilities, at, sampled } = open.pending;
    const logProbability = logProbabilities[action]!;
    if (logProbability === Number.NEGATIVE_INFINITY || !Number.isFinite(reward)) {
      this.cut(trajectory);
      return null;
    }
    const step = { actorInput: input, mask, action, logProbability, reward, discount };
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
      // What is not sampled ends what was.
      if (!pending.sampled && open.steps.length > 0) {
        this.#closed.push({ steps: open.steps, after: pending.input });
        open.steps = [];
      }
      open.pending = pending;
    }
    if (!this.#training && this.#enough(pending.at)) this.#train();
  }

  /** Nothing is known of what follows: the critic's value of the last state stands for it. */
  cut(trajectory: string): void {
    const open = this.#open.get(trajectory);
    this.#open.delete(trajectory);
    if (open?.pending && open.steps.length > 0)
      this.#closed.push({ steps: open.steps, after: open.pending.input });
  }

  /** A function goes elsewhere with its next step. */
  cutFunction(fn: string): void {
    for (const trajectory of [...this.#open.keys()])
      if (trajectory.startsWith(`${fn} `)) this.cut(trajectory);
  }

  /** An episode is over. */
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
    const { features, actions } = shape;
    const trajectories = this.#closed.splice(0);
    const rows = trajectories.reduce((sum, { steps }) => sum + steps.length, 0);
    const rollout = new Rollout(rows, { actor: features, critic: features, actions });
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
      // A thread may answer when the function has long been forgotten.
      if (result === null || this.#disposed) return;
      this.updates++;
      this.import(result.state);
      onUpdate?.(result.metrics);
    });
  }
}
