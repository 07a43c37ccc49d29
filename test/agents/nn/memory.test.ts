import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import {
  type ActorCritic,
  type Engine,
  JsEngine,
  orthogonal,
  SimdEngine,
} from '../../../agents/nn/index.js';
import { SeededRandom } from '../../../config/index.js';
import {
  actorShape,
  batchOf,
  criticShape,
  draws,
  plainTensorFlow,
  scoreShape,
  seeded,
  stepSettings,
} from './fixtures.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Live bytes: what is left after garbage is gone. Buffers are freed a turn after their owners. */
async function liveBytes(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise((done) => setImmediate(done));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

for (const make of [() => new SimdEngine(), () => new JsEngine()] as (() => Engine)[]) {
  const name = make().name;
  test.serial(`${name}: 10,000 decisions and 10,000 training steps leak nothing`, async (t) => {
    const engine = make();
    const pair = seeded(engine, scoreShape, scoreShape);
    const batch = batchOf(8, scoreShape, new SeededRandom(1));
    const input = draws(11, new SeededRandom(2));
    const output = new Float32Array(1);
    const work = (): void => {
      for (let i = 0; i < 10_000; i++) pair.actor.forward(input, output);
      for (let i = 0; i < 10_000; i++) pair.ppoStep(batch, stepSettings);
      // A network comes and goes, as functions do.
      for (let i = 0; i < 1000; i++) {
        const other = engine.network(actorShape);
        other.dispose();
      }
    };
    work();
    const before = await liveBytes();
    const arena = engine instanceof SimdEngine ? engine.memoryUsed : 0;
    work();
    t.is(engine instanceof SimdEngine ? engine.memoryUsed : 0, arena);
    const after = await liveBytes();
    t.true(after < 1.05 * before, `${before} to ${after} bytes`);
  });
}

test.serial(
  'TensorFlow.js keeps its number of tensors and its memory over 11,000 calls',
  async (t) => {
    const engine = await plainTensorFlow();
    const shape = { widths: [4, 8, 1], activation: 'tanh' } as const;
    const pair = seeded(engine, shape, shape);
    const batch = batchOf(4, shape, new SeededRandom(1));
    const input = draws(4, new SeededRandom(2));
    const output = new Float32Array(1);
    const predict = (times: number): void => {
      for (let i = 0; i < times; i++) pair.actor.forward(input, output);
    };
    const update = (times: number): void => {
      for (let i = 0; i < times; i++) pair.ppoStep(batch, stepSettings);
    };
    predict(1000);
    update(200);
    const tensors = engine.tensors;
    const before = await liveBytes();
    predict(10_000);
    update(1000);
    t.is(engine.tensors, tensors);
    const after = await liveBytes();
    t.true(after < 1.05 * before, `${before} to ${after} bytes`);
    pair.dispose();
  },
);

test('a thousand networks keep their own weights while the memory grows under them', (t) => {
  const engine = new SimdEngine();
  const random = new SeededRandom(3);
  const input = draws(20, random);
  const say = (network: { forward(x: Float32Array, y: Float32Array): void }): number[] => {
    const output = new Float32Array(10);
    network.forward(input, output);
    return [...output];
  };
  const first = engine.network(actorShape);
  first.import(orthogonal(actorShape, 1, random.fork('first')));
  const before = say(first);
  const others: ActorCritic[] = [];
  const last = Float32Array.from({ length: 6154 }, (_, i) => i % 3);
  for (let i = 0; i < 1000; i++) {
    const pair = engine.actorCritic(actorShape, criticShape);
    pair.actor.import(last);
    others.push(pair);
  }
  t.true(engine.memoryUsed > 40e6);
  t.deepEqual(say(first), before);
  t.deepEqual(others[0]!.actor.export(), last);
  for (const pair of others) pair.dispose();
  // What is freed is used again, and comes as zeros.
  const used = engine.memoryUsed;
  const again = engine.network(actorShape);
  t.is(engine.memoryUsed, used);
  t.true(again.export().every((value) => value === 0));
});
