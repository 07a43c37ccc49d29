import type { Random } from '../../../config/index.js';
import { adamDefaults, type Engine, type Network, orthogonal } from '../../nn/index.js';
import type { DemonstratedEpisode } from './demonstration.js';
import { batches } from './demonstration.js';
import { transitionsOf } from './steps-by-host.js';

const HIDDEN = [32, 32];
/** Networks trained from different initial weights; they disagree on unseen inputs. */
const MEMBERS = 2;
/** Per network, independent of the number of rows. */
const MINI_BATCHES = 300;
const LEARNING_RATE = 3e-3;

/** A model of one function: features and action in; change of the features and reward out. */
export class Surrogate {
  readonly #members: readonly Network[];
  readonly #features: number;
  readonly #actions: number;
  readonly #input: Float32Array;
  readonly #outputs: readonly Float32Array[];

  private constructor(members: readonly Network[], features: number, actions: number) {
    this.#members = members;
    this.#features = features;
    this.#actions = actions;
    this.#input = new Float32Array(features + actions);
    this.#outputs = members.map(() => new Float32Array(features + 1));
  }

  /** `features`: how many of the inputs change; those after them are constant. */
  static fit(
    engine: Engine,
    episodes: readonly DemonstratedEpisode[],
    { features, actions }: { readonly features: number; readonly actions: number },
    random: Random,
  ): Surrogate {
    const width = features + actions;
    const rows = episodes.flat().flatMap((segment) => [...transitionsOf(segment)]);
    const inputs = new Float32Array(rows.length * width);
    const targets = new Float32Array(rows.length * (features + 1));
    rows.forEach(({ step, next }, row) => {
      inputs.set(step.input.subarray(0, features), row * width);
      inputs[row * width + features + step.action] = 1;
      const at = row * (features + 1);
      for (let i = 0; i < features; i++) targets[at + i] = next[i]! - step.input[i]!;
      targets[at + features] = step.reward;
    });
    const shape = {
      widths: [width, ...HIDDEN, features + 1],
      activation: 'tanh',
    } as const;
    const adam = { ...adamDefaults, learningRate: LEARNING_RATE };
    const members = Array.from({ length: MEMBERS }, (_, member) => {
      const stream = random.fork(`member ${member}`);
      const network = engine.network(shape);
      network.import(orthogonal(shape, 0.1, stream));
      for (let batch = 0; rows.length > 0 && batch < MINI_BATCHES; )
        for (const some of batches(rows.length, 64, stream)) {
          batch++;
          const x = new Float32Array(some.length * width);
          const gradient = new Float32Array(some.length * (features + 1));
          some.forEach((row, i) => {
            x.set(inputs.subarray(row * width, (row + 1) * width), i * width);
          });
          network.forwardBatch(x, some.length, gradient);
          some.forEach((row, i) => {
            for (let o = 0; o <= features; o++) {
              const at = i * (features + 1) + o;
              gradient[at] = (gradient[at]! - targets[row * (features + 1) + o]!) / some.length;
            }
          });
          network.train(x, some.length, gradient, adam);
        }
      return network;
    });
    return new Surrogate(members, features, actions);
  }

  /** Advances `state` in place, clipped to [0, 1]; returns the reward less the penalty. */
  step(state: Float32Array, action: number): number {
    const features = this.#features;
    const input = this.#input;
    input.set(state.subarray(0, features));
    input.fill(0, features, features + this.#actions);
    input[features + action] = 1;
    this.#members.forEach((member, i) => {
      member.forward(input, this.#outputs[i]!);
    });
    const count = this.#members.length;
    for (let i = 0; i < features; i++) {
      let change = 0;
      for (const output of this.#outputs) change += output[i]!;
      const value = state[i]! + change / count;
      state[i] = value > 0 ? Math.min(1, value) : 0;
    }
    let least = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    let sum = 0;
    for (const output of this.#outputs) {
      const reward = output[features]!;
      least = Math.min(least, reward);
      most = Math.max(most, reward);
      sum += reward;
    }
    // The members disagree on unseen inputs: their spread is the penalty (MOPO, Yu 2020).
    return sum / count - (most - least);
  }

  dispose(): void {
    for (const member of this.#members) member.dispose();
  }
}
