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
  #taken: FaasrmExperience[] = [];
  #state: LearnerState;
  #busy = false;
  /** Experiences not used: of outdated weights, or with too many options. */
  refused = 0;

  constructor({ settings, seed, trainer, state = null }: FaasrmLearnerParts) {
    this.#settings = settings;
    this.#seed = seed;
    this.#trainer = trainer;
    this.#state = state ?? newState(seed);
  }

  get state(): LearnerState {
    return this.#state;
  }

  /** Updates of the weights so far. */
  get version(): number {
    return this.#state.counters.updates;
  }

  get experiences(): number {
    return this.#taken.length;
  }

  /** Enough experiences for an update, and no update is running. */
  get ready(): boolean {
    return this.#isFull && !this.#busy;
  }

  /** False: it was not taken. */
  take(experience: FaasrmExperience): boolean {
    const { option, weights } = experience;
    const options = optionsOf(experience);
    const known = weights <= this.version && weights >= this.version - MAX_VERSION_LAG;
    if (this.#isFull || !known || options > this.#settings.options || option >= options) {
      this.refused++;
      return false;
    }
    this.#taken.push(experience);
    return true;
  }

  get #isFull(): boolean {
    return this.#taken.length >= this.#settings.rollout;
  }

  /** `done(null)`: nothing was learned and the weights are unchanged. */
  update(done: (metrics: PpoMetrics | null) => void): void {
    this.#busy = true;
    const { ppo: settings } = this.#settings;
    // The critic's value is the mean over all slots: empty ones would dilute it.
    const options = Math.max(1, ...this.#taken.map(optionsOf));
    const rollout = this.#rolloutOf(this.#taken, options).export();
    this.#taken = [];
    this.#trainer.train(
      { shape: { options }, settings, seed: this.#seed, state: this.#state, rollout },
      (result) => {
        this.#busy = false;
        if (result !== null) this.#state = result.state;
        done(result?.metrics ?? null);
      },
    );
  }

  #rolloutOf(experiences: readonly FaasrmExperience[], options: number): Rollout {
    const { price, ppo } = this.#settings;
    const width = options * inputsOf(scoreShape);
    const rollout = new Rollout(experiences.length, { features: width, actions: options });
    const input = new Float32Array(width);
    const mask = new Uint8Array(options);
    for (const experience of experiences) {
      fillOptions(experience, input, mask);
      rollout.add({
        input,
        mask,
        action: experience.option,
        logProbability: experience.logProbability,
        reward: experienceReward(experience, price),
        discount: ppo.gamma,
      });
      // A task of its own: nothing follows from it.
      rollout.end();
    }
    return rollout;
  }
}

const optionsOf = ({ cpu, memory }: FaasrmExperience): number => cpu.length * memory.length;

/** Rows of 11 features, as the scorer in the hook has them; what is no option is masked. */
function fillOptions(
  { state, cpu, memory }: FaasrmExperience,
  input: Float32Array,
  mask: Uint8Array,
): void {
  const features = inputsOf(scoreShape);
  input.fill(0);
  mask.fill(0);
  let option = 0;
  for (const ofCpu of cpu) {
    for (const ofMemory of memory) {
      const at = option * features;
      input.set(state, at);
      input[at + STATE_FEATURES] = ofCpu;
      input[at + STATE_FEATURES + 1] = ofMemory;
      mask[option++] = 1;
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
