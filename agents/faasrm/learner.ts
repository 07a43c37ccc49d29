import type { FaasrmExperience } from '../../broker/messages/index.js';
import { SeededRandom } from '../../config/index.js';
import { STATE_FEATURES } from '../../rules/index.js';
import { inputsOf, orthogonal, parameterCount, scoreShape } from '../nn/index.js';
import { type LearnerState, type PpoMetrics, Rollout, type Trainer } from '../ppo/index.js';
import { experienceReward } from './reward.js';
import type { FaasrmSettings } from './settings.js';

export interface FaasrmLearnerParts {
  readonly settings: FaasrmSettings;
  readonly seed: number;
  readonly trainer: Trainer;
  /** To go on from; else new weights, which choose nearly uniformly. */
  readonly state?: LearnerState | null;
}

/** Updates that an experience may be behind: PPO's clip leaves little to learn from older ones. */
const MAX_VERSION_LAG = 1;

/** Learns the option-scoring network by PPO from experiences of hooks or of the simulator. */
export class FaasrmLearner {
  readonly #settings: FaasrmSettings;
  readonly #seed: number;
  readonly #trainer: Trainer;
  readonly #rollout: Rollout;
  readonly #input: Float32Array;
  readonly #mask: Uint8Array;
  #state: LearnerState;
  #busy = false;
  /** Experiences not used: of outdated weights, or with too many options. */
  refused = 0;

  constructor({ settings, seed, trainer, state = null }: FaasrmLearnerParts) {
    this.#settings = settings;
    this.#seed = seed;
    this.#trainer = trainer;
    this.#state = state ?? newState(seed);
    const { options, rollout } = settings;
    const width = options * inputsOf(scoreShape);
    this.#rollout = new Rollout(rollout, { features: width, actions: options });
    this.#input = new Float32Array(width);
    this.#mask = new Uint8Array(options);
  }

  get state(): LearnerState {
    return this.#state;
  }

  /** Updates of the weights so far. */
  get version(): number {
    return this.#state.counters.updates;
  }

  get experiences(): number {
    return this.#rollout.rows;
  }

  /** Enough experiences for an update, and no update is running. */
  get ready(): boolean {
    return this.#rollout.full && !this.#busy;
  }

  /** False: it was not taken. */
  take(experience: FaasrmExperience): boolean {
    const { cpu, memory, option, logProbability, weights } = experience;
    const options = cpu.length * memory.length;
    const known = weights <= this.version && weights >= this.version - MAX_VERSION_LAG;
    if (this.#rollout.full || !known || options > this.#settings.options || option >= options) {
      this.refused++;
      return false;
    }
    this.#look(experience);
    this.#rollout.add({
      input: this.#input,
      mask: this.#mask,
      action: option,
      logProbability,
      reward: experienceReward(experience, this.#settings.price),
      discount: this.#settings.ppo.gamma,
    });
    // A task of its own: nothing follows from it.
    this.#rollout.end();
    return true;
  }

  /** `done(null)`: nothing was learned and the weights are unchanged. */
  update(done: (metrics: PpoMetrics | null) => void): void {
    this.#busy = true;
    const { options, ppo: settings } = this.#settings;
    const rollout = this.#rollout.export();
    this.#rollout.clear();
    this.#trainer.train(
      { shape: { options }, settings, seed: this.#seed, state: this.#state, rollout },
      (result) => {
        this.#busy = false;
        if (result !== null) this.#state = result.state;
        done(result?.metrics ?? null);
      },
    );
  }

  /** Rows of 11 features, as the scorer in the hook has them; what is no option is masked. */
  #look({ state, cpu, memory }: FaasrmExperience): void {
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

/** Scores nearly equal, so that the policy starts nearly uniform. */
function newState(seed: number): LearnerState {
  const random = new SeededRandom(seed).fork('weights');
  const none = () => ({
    first: new Float32Array(parameterCount(scoreShape)),
    second: new Float32Array(parameterCount(scoreShape)),
    steps: 0,
  });
  return {
    actor: orthogonal(scoreShape, 0.01, random.fork('actor')),
    critic: orthogonal(scoreShape, 1, random.fork('critic')),
    actorMoments: none(),
    criticMoments: none(),
    counters: { updates: 0, steps: 0 },
  };
}
