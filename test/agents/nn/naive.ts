import type { PpoStepSettings } from '../../../agents/nn/engine.js';
import { layersOf, type NetworkShape, type PpoBatch } from '../../../agents/nn/index.js';

/**
 * The loss once more, in doubles and straight from its definition (agents/nn/engine.ts): what
 * finite differences are taken of.
 */
export function naiveOutputs(
  shape: NetworkShape,
  parameters: Float64Array,
  x: ArrayLike<number>,
): number[] {
  const layers = layersOf(shape);
  let h = Array.from(x);
  layers.forEach(({ inputs, outputs, kernel, bias }, index) => {
    h = Array.from({ length: outputs }, (_, o) => {
      let sum = parameters[bias + o]!;
      for (let i = 0; i < inputs; i++) sum += h[i]! * parameters[kernel + i * outputs + o]!;
      if (index === layers.length - 1) return sum;
      return shape.activation === 'tanh' ? Math.tanh(sum) : Math.max(0, sum);
    });
  });
  return h;
}

export function naiveLoss(
  actor: NetworkShape,
  critic: NetworkShape,
  actorParameters: Float64Array,
  criticParameters: Float64Array,
  batch: PpoBatch,
  { clip, entropyCoefficient, valueCoefficient }: PpoStepSettings,
): number {
  const count = actor.widths.at(-1)!;
  let total = 0;
  for (let row = 0; row < batch.rows; row++) {
    const slice = (array: Float32Array, width: number): Float32Array =>
      array.subarray(row * width, (row + 1) * width);
    const logits = naiveOutputs(actor, actorParameters, slice(batch.inputs, actor.widths[0]!));
    const weights = logits.map((z, j) => (batch.masks[row * count + j] === 1 ? Math.exp(z) : 0));
    const sum = weights.reduce((a, b) => a + b, 0);
    const p = weights.map((weight) => weight / sum);
    const entropy = -p.reduce((a, q) => a + (q > 0 ? q * Math.log(q) : 0), 0);
    const ratio = p[batch.actions[row]!]! / Math.exp(batch.logProbabilities[row]!);
    const clipped = Math.min(Math.max(ratio, 1 - clip), 1 + clip);
    const advantage = batch.advantages[row]!;
    const [value] = naiveOutputs(critic, criticParameters, slice(batch.inputs, critic.widths[0]!));
    total += -Math.min(ratio * advantage, clipped * advantage) - entropyCoefficient * entropy;
    total += valueCoefficient * 0.5 * (value! - batch.returns[row]!) ** 2;
  }
  return total / batch.rows;
}

/** Central differences of a function of doubles, at the given indices. */
export function differences(
  f: (at: Float64Array) => number,
  at: Float64Array,
  indices: readonly number[],
  step = 1e-5,
): number[] {
  return indices.map((i) => {
    const moved = (by: number): number => {
      const other = at.slice();
      other[i]! += by;
      return f(other);
    };
    return (moved(step) - moved(-step)) / (2 * step);
  });
}
