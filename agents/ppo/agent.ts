import type { Random } from '../../config/index.js';
import { type ActorCritic, type Engine, type NetworkShape, orthogonal } from '../nn/index.js';
import { type LearnerState, PpoLearner, type PpoMetrics, RolloutError } from './learner.js';
import { Policy } from './policy.js';
import { Rollout, type Transition } from './rollout.js';
import type { PpoSettings } from './settings.js';

/** False: the step was masked, or not sampled (null): it has no probability to learn from. */
export const isLearnable = (logProbability: number | null): logProbability is number =>
  logProbability !== null && logProbability !== Number.NEGATIVE_INFINITY;

export interface PpoAgentShape {
  readonly features: number;
  readonly actions: number;
}

/** Shapes of the two networks: separate, with tanh, as in [CleanRL]. */
export function ppoShapes(
  { features, actions }: PpoAgentShape,
  { hidden }: Pick<PpoSettings, 'hidden'>,
): { actor: NetworkShape; critic: NetworkShape } {
  return {
    actor: { widths: [features, ...hidden, actions], activation: 'tanh' },
    critic: { widths: [features, ...hidden, 1], activation: 'tanh' },
  };
}

/** The policy's last layer is nearly zero, so that it starts nearly uniform. */
export function newActorCritic(
  engine: Engine,
  shape: PpoAgentShape,
  settings: Pick<PpoSettings, 'hidden'>,
  random: Random,
): ActorCritic {
  const { actor, critic } = ppoShapes(shape, settings);
  const pair = engine.actorCritic(actor, critic);
  pair.actor.import(orthogonal(actor, 0.01, random.fork('actor')));
  pair.critic.import(orthogonal(critic, 1, random.fork('critic')));
  return pair;
}

export interface PpoAgentOptions {
  readonly engine: Engine;
  readonly shape: PpoAgentShape;
  readonly settings: PpoSettings;
  /** Rows of one update. */
  readonly rollout: number;
  readonly random: Random;
}

/** A step of ordinary length; `logProbability` null: its action was not sampled. */
type DecidedStep = Omit<Transition, 'logProbability' | 'discount'> & {
  readonly logProbability: number | null;
};

/**
 * One agent that decides and learns in one thread: `decide`, `executed`, `cut` or `end` where a
 * segment closes, `update` when `ready`. Agent hosts use `Policy` and `PpoLearner`.
 */
export class PpoAgent {
  readonly policy: Policy;
  readonly rollout: Rollout;
  readonly #learner: PpoLearner;
  readonly #pair: ActorCritic;
  readonly #gamma: number;
  readonly #random: Random;
  #acting: Random;
  readonly #input: Float32Array;
  readonly #mask: Uint8Array;

  constructor({ engine, shape, settings, rollout, random }: PpoAgentOptions) {
    this.#pair = newActorCritic(engine, shape, settings, random.fork('weights'));
    this.#learner = new PpoLearner(this.#pair, settings, random.fork('learner'));
    this.policy = new Policy(this.#pair.actor);
    this.rollout = new Rollout(rollout, shape);
    this.#gamma = settings.gamma;
    this.#random = random;
    this.#acting = random.fork('acting 0');
    this.#input = new Float32Array(shape.features);
    this.#mask = new Uint8Array(shape.actions);
  }

  /** Samples; `greedy` takes the most probable action. Null: none is valid. */
  decide(input: Float32Array, mask: Uint8Array, greedy = false): number | null {
    this.#input.set(input);
    this.#mask.set(mask);
    return this.policy.decide(input, mask, greedy ? undefined : this.#acting);
  }

  /** The step after `decide`. */
  executed(action: number, reward: number): void {
    this.record({
      input: this.#input,
      mask: this.#mask,
      action,
      logProbability: this.policy.logProbability(action),
      reward,
    });
  }

  /**
   * A step that was decided before; one that is not {@link isLearnable} ends the segment before it.
   * A full buffer is the caller's fault: it would drop steps between two kept ones.
   */
  record(step: DecidedStep): void {
    const { logProbability } = step;
    if (!isLearnable(logProbability)) {
      this.rollout.cut(step.input);
      return;
    }
    if (this.rollout.full)
      throw new RolloutError(`${this.rollout.rows} rows are full: update before the next step`);
    this.rollout.add({ ...step, logProbability, discount: this.#gamma });
  }

  cut(after: Float32Array): void {
    this.rollout.cut(after);
  }

  end(): void {
    this.rollout.end();
  }

  get ready(): boolean {
    return this.rollout.full && this.rollout.open === 0;
  }

  update(): PpoMetrics {
    const metrics = this.#learner.update(this.rollout);
    this.rollout.clear();
    this.#acting = this.#random.fork(`acting ${this.#learner.counters.updates}`);
    return metrics;
  }

  export(): LearnerState {
    return this.#learner.export();
  }

  import(state: LearnerState): void {
    this.#learner.import(state);
    this.rollout.clear();
    this.#acting = this.#random.fork(`acting ${state.counters.updates}`);
  }

  dispose(): void {
    this.#pair.dispose();
  }
}
