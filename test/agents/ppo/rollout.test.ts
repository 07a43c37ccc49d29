import test from 'ava';
import { ShapeError } from '../../../agents/nn/index.js';
import { MaskedCategorical } from '../../../agents/ppo/index.js';
import { Rollout, type Transition } from '../../../agents/ppo/rollout.js';

const WIDTHS = { features: 2, actions: 3 };

const step = (n: number, changes: Partial<Transition> = {}): Transition => ({
  input: Float32Array.of(n, -n),
  mask: Uint8Array.of(1, 0, 1),
  action: 2,
  logProbability: -n,
  reward: 10 * n,
  discount: 0.5,
  ...changes,
});

test('a rollout keeps its rows in order until it is full', (t) => {
  const rollout = new Rollout(2, WIDTHS);
  t.deepEqual([rollout.rows, rollout.open, rollout.full], [0, 0, false]);
  rollout.add(step(1));
  t.false(rollout.full);
  rollout.add(step(2));
  t.true(rollout.full);
  t.deepEqual([...rollout.inputs], [1, -1, 2, -2]);
  t.deepEqual([...rollout.masks], [1, 0, 1, 1, 0, 1]);
  t.deepEqual(
    [[...rollout.actions], [...rollout.rewards]],
    [
      [2, 2],
      [10, 20],
    ],
  );
  t.deepEqual(
    [[...rollout.logProbabilities], [...rollout.discounts]],
    [
      [-1, -2],
      [0.5, 0.5],
    ],
  );
  t.throws(() => rollout.add(step(3)), { instanceOf: ShapeError, message: /2 rows is full/ });
});

test('a step of another width, or of a masked action, is refused', (t) => {
  const rollout = new Rollout(2, WIDTHS);
  for (const wrong of [
    { input: new Float32Array(3) },
    { mask: Uint8Array.of(1, 1) },
    { action: 1 },
    { action: 3 },
  ])
    t.throws(() => rollout.add(step(1, wrong)), { instanceOf: ShapeError });
  rollout.add(step(1));
  t.throws(() => rollout.cut(new Float32Array(3)), { instanceOf: ShapeError });
  t.is(rollout.rows, 1);
});

test('a segment holds the rows since the one before; an empty one is none', (t) => {
  const rollout = new Rollout(4, WIDTHS);
  rollout.end();
  t.deepEqual(rollout.segments, []);
  rollout.add(step(1));
  const after = Float32Array.of(7, 8);
  rollout.cut(after);
  after.fill(0);
  rollout.add(step(2));
  rollout.add(step(3));
  t.is(rollout.open, 2);
  rollout.end();
  rollout.end();
  t.deepEqual(rollout.segments, [
    { from: 0, to: 1, after: Float32Array.of(7, 8) },
    { from: 1, to: 3, after: null },
  ]);
  t.is(rollout.open, 0);
});

test('an exported rollout is a full copy, and what is open stays open', (t) => {
  const rollout = new Rollout(4, WIDTHS);
  rollout.add(step(1));
  rollout.end();
  rollout.add(step(2));
  const data = rollout.export();
  const copy = Rollout.from(data);
  rollout.clear();
  t.deepEqual([rollout.rows, rollout.open, rollout.segments.length], [0, 0, 0]);
  t.deepEqual([data.rows, data.actions.length, data.rewards.length], [2, 2, 2]);
  t.deepEqual([copy.rows, copy.open, copy.full], [2, 1, true]);
  t.deepEqual([...copy.inputs], [1, -1, 2, -2]);
  t.deepEqual(copy.export(), data);
  t.is(Rollout.from(new Rollout(4, WIDTHS).export()).open, 0);
});

test('of equal logits the first is the best, and a draw reaches all that are allowed', (t) => {
  const categorical = new MaskedCategorical(4);
  t.true(categorical.set(Float32Array.of(0, 1, 1, 0), Uint8Array.of(0, 1, 1, 0)));
  t.is(categorical.best, 1);
  const draw = (value: number): number =>
    categorical.sample({ next: () => value, below: () => 0 } as never);
  t.deepEqual([0, 0.499, 0.501, 0.999, 1].map(draw), [1, 1, 2, 2, 2]);
  t.false(categorical.set(Float32Array.of(0, Number.NaN, 1, 0), Uint8Array.of(0, 1, 1, 0)));
  t.false(categorical.set(Float32Array.of(0, Infinity, 1, 0), Uint8Array.of(0, 1, 1, 0)));
  t.false(categorical.set(new Float32Array(4), new Uint8Array(4)));
});
