import type { ExecutionContext } from 'ava';
import type { PpoStepSettings } from '../../../agents/nn/engine.js';
import {
  type ActorCritic,
  adamDefaults,
  type Engine,
  inputsOf,
  layersOf,
  type NetworkShape,
  OptionActorCritic,
  orthogonal,
  outputsOf,
  type PpoBatch,
  projectPackages,
  scoreShape,
  TensorFlowEngine,
} from '../../../agents/nn/index.js';
import { type Random, SeededRandom } from '../../../config/index.js';

/** The shapes that the design names, and one whose every width needs padding. */
export const actorShape: NetworkShape = { widths: [20, 64, 64, 10], activation: 'tanh' };
export const criticShape: NetworkShape = { widths: [20, 64, 64, 1], activation: 'tanh' };
export { scoreShape };
export const oddShape: NetworkShape = { widths: [7, 13, 5, 3], activation: 'relu' };

export const silent = (): void => {};

/** TensorFlow.js without native code, whether tfjs-node is there or not. */
export const plainTensorFlow = (): Promise<TensorFlowEngine> =>
  TensorFlowEngine.load(silent, {
    load(name) {
      if (name === '@tensorflow/tfjs-node') throw new Error('left aside');
      return projectPackages.load(name);
    },
  });

/** Uniform in [-1, 1). */
export const draws = (length: number, random: Random): Float32Array =>
  Float32Array.from({ length }, () => 2 * random.next() - 1);

export const stepSettings: PpoStepSettings = {
  ...adamDefaults,
  clip: 0.2,
  entropyCoefficient: 0.01,
  valueCoefficient: 0.5,
};

/**
 * A batch as a policy near the uniform one would have made it, with a fifth of the actions masked.
 */
export function batchOf(rows: number, actor: NetworkShape, random: Random): PpoBatch {
  const count = outputsOf(actor);
  const masks = Uint8Array.from({ length: rows * count }, () => (random.next() < 0.8 ? 1 : 0));
  const actions = Int32Array.from({ length: rows }, () => random.below(count));
  const logProbabilities = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    masks[row * count + actions[row]!] = 1;
    const allowed = masks
      .subarray(row * count, (row + 1) * count)
      .reduce((sum, one) => sum + one, 0);
    logProbabilities[row] = -Math.log(allowed) + 0.3 * (random.next() - 0.5);
  }
  return {
    rows,
    inputs: draws(rows * inputsOf(actor), random),
    actions,
    masks,
    logProbabilities,
    advantages: draws(rows, random),
    returns: draws(rows, random),
  };
}

/** An actor and a critic with the same weights in every engine. */
export function seeded(
  engine: Engine,
  actor: NetworkShape,
  critic: NetworkShape,
  seed = 1,
): ActorCritic {
  const random = new SeededRandom(seed);
  const pair = engine.actorCritic(actor, critic);
  pair.actor.import(orthogonal(actor, 0.5, random.fork('actor')));
  pair.critic.import(orthogonal(critic, 1, random.fork('critic')));
  return pair;
}

export const largestDifference = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let largest = 0;
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!));
  return largest;
};

/** |a - b| / |b| in the Euclidean norm. */
export function relativeDifference(a: Float32Array, b: Float32Array): number {
  let apart = 0;
  let size = 0;
  for (let i = 0; i < b.length; i++) {
    apart += (a[i]! - b[i]!) ** 2;
    size += b[i]! ** 2;
  }
  return Math.sqrt(apart / size);
}

/** Every kernel and every bias by itself, so that a small layer cannot hide behind a large one. */
export function gradientsAgree(
  t: ExecutionContext,
  shape: NetworkShape,
  gradient: Float32Array,
  oracle: Float32Array,
  tolerance: number,
): void {
  for (const { inputs, outputs, kernel, bias } of layersOf(shape)) {
    const parts = [
      [kernel, bias],
      [bias, bias + outputs],
    ] as const;
    for (const [from, to] of parts) {
      const apart = relativeDifference(gradient.subarray(from, to), oracle.subarray(from, to));
      t.true(apart <= tolerance, `${inputs}x${outputs}: ${apart} apart, at most ${tolerance}`);
    }
  }
}

/** New weights: scores nearly equal, so that the policy starts nearly uniform. */
export function newOptionScorer(
  engine: Engine,
  options: number,
  random: Random,
): OptionActorCritic {
  const pair = new OptionActorCritic(engine, scoreShape, options);
  pair.actor.import(orthogonal(scoreShape, 0.01, random.fork('actor')));
  pair.critic.import(orthogonal(scoreShape, 1, random.fork('critic')));
  return pair;
}
