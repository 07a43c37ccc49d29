import test from 'ava';
import { Encoder, type Trajectory } from '../../../agents/aware/index.js';
import { GruLayer, initialGru } from '../../../agents/aware/meta-learner/gru.js';
import { SeededRandom } from '../../../config/index.js';
import {
  contrastive,
  EncoderTrainer,
  gruGradients,
} from '../../../experiments/aware/encoder-trainer.js';

const random = () => new SeededRandom(7);

function episode(seed: number, steps: number, width = 5, earned = 0.5): Trajectory {
  const draw = new SeededRandom(seed);
  return { width, rows: Float32Array.from({ length: steps * width }, () => draw.next()), earned };
}

test('gradients of the encoder agree with central differences in all layers', (t) => {
  const encoder = Encoder.initial({ width: 5, hidden: 3, embedding: 4 }, random());
  const trainer = new EncoderTrainer(encoder);
  const bundles = [
    [episode(1, 6), episode(2, 6)],
    [episode(3, 6), episode(4, 6)],
  ];
  const direction = [Float32Array.from([1, -2, 0.5, 0.3]), Float32Array.from([-0.4, 0.7, 1.1, -1])];
  const loss = (): number =>
    trainer
      .pass(bundles)
      .embeddings.reduce(
        (sum, one, b) => sum + one.reduce((part, v, i) => part + v * direction[b]![i]!, 0),
        0,
      );
  const gradient = trainer.pass(bundles).gradient(direction);
  const size = 2e-2;
  let checked = 0;
  for (let i = 0; i < encoder.recurrent.length; i += 3) {
    const value = encoder.recurrent[i]!;
    encoder.recurrent[i] = value + size;
    const above = loss();
    encoder.recurrent[i] = value - size;
    const below = loss();
    encoder.recurrent[i] = value;
    const expected = (above - below) / (2 * size);
    // The embedding is single precision: differences are good to 1e-4 or so.
    t.true(
      Math.abs(gradient[i]! - expected) < 2e-3 + 0.02 * Math.abs(expected),
      `parameter ${i}: ${gradient[i]} ${expected}`,
    );
    checked++;
  }
  t.true(checked > 100);
});

test('gradients of one layer agree with central differences to five digits', (t) => {
  const shape = { inputs: 3, hidden: 4 };
  const parameters = initialGru(shape, random());
  const layer = new GruLayer(shape, parameters, false);
  const x = Float64Array.from({ length: 5 * 2 * 3 }, (_, i) => Math.cos(1.7 * i));
  const weight = Float64Array.from({ length: 5 * 2 * 4 }, (_, i) => Math.sin(2.3 * i));
  const loss = (): number =>
    layer.forward(x, 5, 2).reduce((sum, one, i) => sum + one * weight[i]!, 0);
  loss();
  const gradient = new Float64Array(parameters.length);
  const inputGradient = new Float64Array(x.length);
  gruGradients(layer, weight, gradient, inputGradient);
  const agrees = (
    of: { [i: number]: number; length: number },
    found: Float64Array,
    what: string,
  ): void => {
    for (let i = 0; i < of.length; i++) {
      const value = of[i]!;
      of[i] = value + 2 ** -10;
      const above = loss();
      of[i] = value - 2 ** -10;
      const below = loss();
      of[i] = value;
      const expected = (above - below) / 2 ** -9;
      t.true(
        Math.abs(found[i]! - expected) < 1e-5 + 1e-4 * Math.abs(expected),
        `${what} ${i}: ${found[i]} ${expected}`,
      );
    }
  };
  agrees(parameters, gradient, 'parameter');
  agrees(x, inputGradient, 'input');
});

test('the contrastive gradient agrees with central differences and joins partners', (t) => {
  const draw = random();
  const unit = (values: number[]) => Float32Array.from(values, (v) => v / Math.hypot(...values));
  const embeddings = Array.from({ length: 6 }, () =>
    unit(Array.from({ length: 4 }, () => draw.next() - 0.5)),
  );
  const none = () => embeddings.map((one) => new Float32Array(one.length));
  const gradients = none();
  contrastive(embeddings, 0.2, 1, gradients);
  // Only directions count: the difference is taken of what stays on the sphere.
  const e = embeddings[2]!;
  for (const along of [0, 1, 2, 3]) {
    const moved = (size: number): number => {
      const changed = embeddings.map((one) => Float32Array.from(one));
      changed[2]![along]! += size;
      changed[2] = unit([...changed[2]!]);
      return contrastive(changed, 0.2, 1, none());
    };
    const expected = (moved(1e-3) - moved(-1e-3)) / 2e-3;
    const dot = e.reduce((sum, value, i) => sum + value * gradients[2]![i]!, 0);
    const found = gradients[2]![along]! - dot * e[along]!;
    t.true(Math.abs(found - expected) < 2e-3, `${along}: ${found} ${expected}`);
  }
});
