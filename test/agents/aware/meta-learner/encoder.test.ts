import test from 'ava';
import {
  cosine,
  Encoder,
  type Trajectory,
  TrajectoryRecorder,
} from '../../../../agents/aware/index.js';
import { GruLayer, gruParameters, initialGru } from '../../../../agents/aware/meta-learner/gru.js';
import { mostSimilar } from '../../../../agents/aware/meta-learner/similarity.js';
import { TrajectoryBundle } from '../../../../agents/aware/meta-learner/trajectory.js';
import { SeededRandom } from '../../../../config/index.js';

const random = () => new SeededRandom(7);

function episode(seed: number, steps: number, width = 5, earned = 0.5): Trajectory {
  const draw = new SeededRandom(seed);
  return { width, rows: Float32Array.from({ length: steps * width }, () => draw.next()), earned };
}

test('one step of the gated unit by hand: all weights .5, biases 0', (t) => {
  const shape = { inputs: 2, hidden: 1 };
  t.is(gruParameters(shape), 2 * 3 + 1 * 3 + 3 + 1);
  const parameters = new Float32Array(13).fill(0.5);
  parameters.fill(0, 9);
  const layer = new GruLayer(shape, parameters, false);
  // Sums .5 x (1 + 1) = 1: z = s(1) = .731059, n = tanh(1) = .761594 (h = 0 before); h = (1 - z) n
  // = .204824. Second step, the same inputs: r = z = s(1 + .5 h) = s(1.102412) = .750716; n =
  // tanh(1 + r .5 h) = tanh(1.076882) = .792087; h' = (1 - z) n + z h = .197455 + .153765 =
  // .351220.
  const h = layer.forward(Float64Array.from([1, 1, 1, 1]), 2, 1);
  t.true(Math.abs(h[0]! - 0.204824) < 1e-5, `${h[0]}`);
  t.true(Math.abs(h[1]! - 0.35122) < 1e-5, `${h[1]}`);
});

test('backwards is forwards over the reversed sequence', (t) => {
  const shape = { inputs: 3, hidden: 4 };
  const parameters = initialGru(shape, random());
  const x = Float64Array.from({ length: 15 }, (_, i) => Math.sin(i));
  const reversed = Float64Array.from(
    [4, 3, 2, 1, 0].flatMap((step) => [...x.subarray(3 * step, 3 * step + 3)]),
  );
  const backwards = new GruLayer(shape, parameters, true).forward(x, 5, 1);
  const forwards = new GruLayer(shape, parameters, false).forward(reversed, 5, 1);
  t.deepEqual([...backwards.subarray(0, 4)], [...forwards.subarray(16)]);
});

test('it scans time: the order of steps matters, the order of episodes does not', (t) => {
  const encoder = Encoder.initial({ width: 5, hidden: 4, embedding: 6 }, random());
  const [a, b] = [episode(1, 8), episode(2, 8)];
  const turned = {
    ...a,
    rows: Float32Array.from([...a.rows.subarray(20), ...a.rows.subarray(0, 20)]),
  };
  t.true(cosine(encoder.embed([a]), encoder.embed([turned])) < 0.999999);
  const there = encoder.embed([a, b]);
  encoder.embed([b, a]).forEach((value, i) => {
    t.true(Math.abs(value - there[i]!) < 1e-5);
  });
});

test('episodes may be of any and mixed length; no trajectory gives zeros', (t) => {
  const encoder = Encoder.initial({ width: 5, hidden: 4, embedding: 6 }, random());
  const mixed = encoder.embed([episode(1, 3), episode(2, 50), episode(3, 3)]);
  t.true(Math.abs(Math.hypot(...mixed) - 4) < 1e-5);
  t.deepEqual([...encoder.embed([])], [0, 0, 0, 0, 0, 0]);
});

test('every action has a place of its own in the trajectory', (t) => {
  const recorder = new TrajectoryRecorder(2, 3);
  recorder.add(Float32Array.from([0.25, 0.5, 9]), 2, 1);
  recorder.add(Float32Array.from([0.75, 1, 9]), 0, 0.5);
  t.deepEqual([...recorder.take().rows], [0.25, 0.5, 0, 0, 1, 1, 0.75, 1, 1, 0, 0, 0.5]);
  t.is(recorder.take().rows.length, 0, 'the next episode begins empty');
});

test('the best M are kept, and episodes of equal return do not replace each other', (t) => {
  const bundle = new TrajectoryBundle(3);
  const two = [episode(1, 4, 5, 0.5), episode(2, 4, 5, 0.5)];
  for (const one of [
    ...two,
    episode(3, 4, 5, 0.1),
    episode(4, 4, 5, 0.9),
    episode(5, 4, 5, Number.NaN),
  ])
    bundle.add(one);
  t.deepEqual(
    bundle.trajectories.map(({ earned }) => earned),
    [0.9, 0.5, 0.5],
  );
  t.true(two.every((one) => bundle.trajectories.includes(one)));
});

test('cosine and the most similar by hand', (t) => {
  t.is(cosine(Float32Array.from([3, 4]), Float32Array.from([4, 3])), 24 / 25);
  t.is(cosine(Float32Array.from([1, 0]), Float32Array.from([0, 0])), 0);
  const among = [
    [1, 0],
    [1, 1],
    [0, 1],
  ].map((one) => ({ embedding: Float32Array.from(one) }));
  t.is(mostSimilar(Float32Array.from([2, 1.9]), among)?.entry, among[1]);
  t.is(mostSimilar(Float32Array.from([1]), []), null);
});
