import { type Lesson, STATE_FEATURES } from '../../broker/index.js';
import type { Random } from '../../config/index.js';
import { type Engine, inputsOf, newOptionScorer, type OptionActorCritic, scoreShape } from '../nn/index.js';
import { type LearnerState, PpoLearner, type PpoMetrics, Rollout } from '../ppo/index.js';
import { lessonReward } from './reward.js';
import type { FaasrmSettings } from './settings.js';

export interface FaasrmLearnerParts {
  readonly engine: Engine;
  readonly settings: FaasrmSettings;
  readonly random: Random;
  /** To go on from; else new weights, which choose nearly uniformly. */
  readonly state?: LearnerState | null;
}

/** Updates that weights may be behind when a lesson by them arrives: the ratio of probabilities is clipped, and older ones teach little. */
const LAG = 1;

/** Learns the option-scoring network by PPO from lessons, whoever brings them. */
export class FaasrmLearner {
  readonly #settings: FaasrmSettings;
  readonly #pair: OptionActorCritic;
  readonly #learner: PpoLearner;
  readonly #rollout: Rollout;
  readonly #input: Float32Array;
  readonly #mask: Uint8Array;
  /** Lessons not taken: of old weights, or with more options than there is room for. */
  refused = 0;

  constructor({ engine, settings, random, state = null }: FaasrmLearnerParts) {
    this.#settings = settings;
    const { options, rollout } = settings;
    this.#pair = newOptionScorer(engine, options, random.fork('weights'));
    this.#learner = new PpoLearner(this.#pair, settings.ppo, random.fork('learner'));
    if (state !== null) this.#learner.import(state);
    const width = options * inputsOf(scoreShape);
    this.#rollout = new Rollout(rollout, { actor: width, critic: width, actions: options });
    this.#input = new Float32Array(width);
    this.#mask = new Uint8Array(options);
  }

  /** Of the weights: updates made. */
  get version(): number {
    return this.#learner.counters.updates;
  }

  get lessons(): number {
    return this.#rollout.rows;
  }

  /** Enough lessons for an update. */
  get ready(): boolean {
    return this.#rollout.full;
  }

  get state(): LearnerState {
    return this.#learner.export();
  }

  /** False: it was not taken. */
  take(lesson: Lesson): boolean {
    const { cpu, memory, option, logProbability, weights } = lesson;
    const options = cpu.length * memory.length;
    const known = weights <= this.version && weights >= this.version - LAG;
    if (this.ready || !known || options > this.#settings.options || option >= options) {
      this.refused++;
      return false;
    }
    this.#look(lesson);
    this.#rollout.add({
      actorInput: this.#input,
      mask: this.#mask,
      action: option,
      logProbability,
      reward: lessonReward(lesson, this.#settings.price),
      discount: this.#settings.ppo.gamma,
    });
    // A task of its own: nothing follows from it.
    this.#rollout.end();
    return true;
  }

  /** One update; call it when `ready`, or earlier to use what there is. */
  update(): PpoMetrics {
    const metrics = this.#learner.update(this.#rollout);
    this.#rollout.clear();
    return metrics;
  }

  dispose(): void {
    this.#pair.dispose();
  }

  /** Rows of 11 features, as the scorer in the hook has them; what is no option is masked. */
  #look({ state, cpu, memory }: Lesson): void {
    const features = inputsOf(scoreShape);
    this.#input.fill(0);
    this.#mask.fill(0);
    let option = 0;
    for (let c = 0; c < cpu.length; c++) {
      for (let m = 0; m < memory.length; m++) {
        const at = option * features;
        this.#input.set(state, at);
        this.#input[at + STATE_FEATURES] = cpu[c]!;
        this.#input[at + STATE_FEATURES + 1] = memory[m]!;
        this.#mask[option++] = 1;
      }
    }
  }
}
