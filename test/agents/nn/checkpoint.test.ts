import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import {
  CHECKPOINT_VERSION,
  decodeCheckpoint,
  encodeCheckpoint,
} from '../../../agents/nn/checkpoint/layers-format.js';
import { packCheckpoint, unpackCheckpoint } from '../../../agents/nn/checkpoint/store.js';
import {
  type Checkpoint,
  CheckpointDamagedError,
  CheckpointForeignError,
  CheckpointMissingError,
  CheckpointNewerError,
  JsEngine,
  loadCheckpoint,
  orthogonal,
  PolicyStore,
  projectPackages,
  ShapeError,
  SimdEngine,
  saveCheckpoint,
} from '../../../agents/nn/index.js';
import {
  expectedPpo,
  PpoAgent,
  ppoCheckpoint,
  ppoState,
  simulatorSettings,
} from '../../../agents/ppo/index.js';
import { objectStores } from '../../../broker/index.js';
import { SeededRandom } from '../../../config/index.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { actorShape, criticShape, draws, largestDifference, scoreShape } from './fixtures.js';

function checkpoint(seed = 1): Checkpoint {
  const random = new SeededRandom(seed);
  const network = (shape: typeof actorShape) => {
    const parameters = orthogonal(shape, 1, random.fork(shape.widths.join()));
    const first = draws(parameters.length, random);
    return {
      shape,
      parameters,
      moments: { first, second: draws(parameters.length, random), steps: 17 },
    };
  };
  return {
    kind: 'ppo',
    seed: 42,
    counters: { updates: 3, steps: 1500 },
    configuration: { gamma: 0.9, hidden: [64, 64] },
    networks: { actor: network(actorShape), critic: network(criticShape) },
  };
}

const folder = (): string => temporaryFolder('checkpoint');

test('what is written is read: networks, moments, seed, counters, configuration', async (t) => {
  const path = folder();
  await saveCheckpoint(path, checkpoint());
  t.deepEqual(await loadCheckpoint(path), checkpoint());
  t.deepEqual(unpackCheckpoint('it', packCheckpoint(checkpoint())), checkpoint());
  const score: Checkpoint = {
    kind: 'faasrm',
    seed: 0,
    counters: {},
    configuration: {},
    networks: { score: { shape: scoreShape, parameters: new Float32Array(929), moments: null } },
  };
  await saveCheckpoint(path, score);
  t.deepEqual(await loadCheckpoint(path), score);
  t.deepEqual(readdirSync(path).length, 2, 'the old weights are gone');
});

test('TensorFlow.js loads a checkpoint as a layers model with equal predictions', async (t) => {
  const tf = await projectPackages.load('@tensorflow/tfjs');
  const path = folder();
  await saveCheckpoint(path, checkpoint());
  const model = JSON.parse(readFileSync(join(path, 'model.json'), 'utf8'));
  const [{ paths, weights }] = model.weightsManifest;
  const data = readFileSync(join(path, paths[0]));
  const opened = await tf.loadLayersModel(
    tf.io.fromMemory({
      modelTopology: model.modelTopology,
      weightSpecs: weights,
      weightData: new Uint8Array(data).buffer,
      format: model.format,
    }),
  );
  const rows = 5;
  const inputs = draws(rows * 20, new SeededRandom(2));
  const [logits, values] = opened.predict([
    tf.tensor2d(inputs, [rows, 20]),
    tf.tensor2d(inputs, [rows, 20]),
  ]) as import('@tensorflow/tfjs').Tensor[];
  for (const [name, tensor, width] of [
    ['actor', logits!, 10],
    ['critic', values!, 1],
  ] as const) {
    const { shape, parameters } = checkpoint().networks[name]!;
    const network = new JsEngine().network(shape);
    network.import(parameters);
    const outputs = new Float32Array(rows * width);
    network.forwardBatch(inputs, rows, outputs);
    t.true(largestDifference(tensor.dataSync(), outputs) < 1e-5, name);
  }
});

test('a checkpoint that is changed, cut short or without weights is damaged', async (t) => {
  const { model, weights } = encodeCheckpoint(checkpoint());
  const damaged = { instanceOf: CheckpointDamagedError, code: 'GLN_CHECKPOINT_DAMAGED' } as const;
  const flipped = weights.slice();
  flipped[1234]! ^= 1;
  t.throws(() => decodeCheckpoint('it', model, flipped), { ...damaged, message: /digest/ });
  t.throws(() => decodeCheckpoint('it', model, weights.subarray(4)), {
    ...damaged,
    message: /bytes of weights/,
  });
  t.throws(() => decodeCheckpoint('it', model.slice(0, -5), weights), {
    ...damaged,
    message: /not JSON/,
  });
  t.throws(
    () => decodeCheckpoint('it', model.replace('"steps":1500', '"steps":1501'), weights),
    damaged,
  );
  t.throws(
    () => decodeCheckpoint('it', model.replace('"units":64', '"units":65'), weights),
    damaged,
  );
  t.throws(
    () => decodeCheckpoint('it', model.replace('"seed":42', '"seed":"x"'), weights),
    damaged,
  );
  t.throws(
    () => decodeCheckpoint('it', model.replace(/weights-\w+\.bin/, '../../etc/passwd'), weights),
    {
      ...damaged,
      message: /no weights file of ours/,
    },
  );
  const packed = packCheckpoint(checkpoint());
  t.throws(() => unpackCheckpoint('it', packed.subarray(0, 500)), damaged);
  t.throws(() => unpackCheckpoint('it', packed.subarray(0, 10)), damaged);
  const path = folder();
  await saveCheckpoint(path, checkpoint());
  const other = encodeCheckpoint(checkpoint(2)).weights;
  writeFileSync(join(path, encodeCheckpoint(checkpoint()).weightsFile), other);
  await t.throwsAsync(loadCheckpoint(path), damaged);
  writeFileSync(join(path, 'model.json'), encodeCheckpoint(checkpoint(3)).model);
  await t.throwsAsync(loadCheckpoint(path), { ...damaged, message: /weights file is missing/ });
});

test('a checkpoint is read from the middle of a Buffer, as NATS delivers it', (t) => {
  const packed = packCheckpoint(checkpoint());
  const message = Buffer.alloc(packed.length + 100, 0xff);
  message.set(packed, 52);
  t.deepEqual(unpackCheckpoint('it', message.subarray(52, 52 + packed.length)), checkpoint());
});

test('a weight that is not finite is refused as damaged, before any decision', (t) => {
  const corrupted = checkpoint();
  corrupted.networks.actor!.parameters[7] = Number.NaN;
  const { model, weights } = encodeCheckpoint(corrupted);
  t.throws(() => decodeCheckpoint('it', model, weights), {
    instanceOf: CheckpointDamagedError,
    message: /not finite/,
  });
});

test('a foreign model, another kind and another shape are refused', (t) => {
  const foreign = { instanceOf: CheckpointForeignError, code: 'GLN_CHECKPOINT_FOREIGN' } as const;
  const { model, weights } = encodeCheckpoint(checkpoint());
  const { userDefinedMetadata: _, ...theirs } = JSON.parse(model);
  t.throws(() => decodeCheckpoint('it', JSON.stringify(theirs), weights), foreign);
  t.throws(() => decodeCheckpoint('it', 'null', weights), foreign);
  t.throws(() => unpackCheckpoint('it', new TextEncoder().encode('a picture, perhaps')), foreign);
  const shapes = { actor: actorShape, critic: criticShape };
  t.throws(() => decodeCheckpoint('it', model, weights, { kind: 'ddpg', shapes }), {
    ...foreign,
    message: /'ppo'/,
  });
  t.throws(
    () => decodeCheckpoint('it', model, weights, { kind: 'ppo', shapes: { actor: criticShape } }),
    {
      ...foreign,
      message: /20-64-64-10 tanh, not 20-64-64-1 tanh/,
    },
  );
  t.throws(
    () => decodeCheckpoint('it', model, weights, { kind: 'ppo', shapes: { score: scoreShape } }),
    foreign,
  );
  t.notThrows(() => decodeCheckpoint('it', model, weights, { kind: 'ppo', shapes }));
});

test('a newer version is refused by its number, whatever else it says', (t) => {
  const { model, weights } = encodeCheckpoint(checkpoint());
  const parsed = JSON.parse(model);
  parsed.userDefinedMetadata.gleaner = { version: CHECKPOINT_VERSION + 1, everything: 'else' };
  t.throws(() => decodeCheckpoint('it', JSON.stringify(parsed), weights), {
    instanceOf: CheckpointNewerError,
    code: 'GLN_CHECKPOINT_NEWER',
    message: /version 2, this Gleaner reads up to 1/,
  });
});

test('a missing checkpoint is reported; data that does not fit is not written', async (t) => {
  await t.throwsAsync(loadCheckpoint(folder()), { instanceOf: CheckpointMissingError });
  const wrong = checkpoint();
  await t.throwsAsync(
    saveCheckpoint(folder(), {
      ...wrong,
      networks: { actor: { ...wrong.networks.actor!, parameters: new Float32Array(3) } },
    }),
    { instanceOf: ShapeError },
  );
});

test('while checkpoints are written, a reader always finds a whole one', async (t) => {
  const path = folder();
  await saveCheckpoint(path, checkpoint(0));
  let writing = true;
  const writer = (async () => {
    for (let i = 1; i < 40; i++) await saveCheckpoint(path, checkpoint(i));
    writing = false;
  })();
  const seen = new Set<number>();
  while (writing) seen.add((await loadCheckpoint(path)).networks.actor!.parameters[0]!);
  await writer;
  t.true(seen.size > 1);
  t.deepEqual(await loadCheckpoint(path), checkpoint(39));
});

test('an agent stored in the broker’s object store learns on with the same result', async (t) => {
  const store = new PolicyStore(new MemoryBus().connect().objects(objectStores.policies));
  t.is(await store.load('f'), null);
  const shape = { features: 2, actions: 3 };
  const settings = { ...simulatorSettings, hidden: [8] };
  const make = () =>
    new PpoAgent({
      engine: new SimdEngine(),
      shape,
      settings,
      rollout: 20,
      random: new SeededRandom(5),
    });
  const learn = (agent: PpoAgent): void => {
    while (!agent.rollout.full) {
      const action = agent.decide(
        Float32Array.of(agent.rollout.rows / 20, 1),
        Uint8Array.of(1, 1, 1),
      );
      agent.executed(action!, action === 1 ? 1 : 0);
    }
    agent.cut(new Float32Array(2));
    agent.update();
  };
  const agent = make();
  learn(agent);
  await store.save('f', ppoCheckpoint(agent.export(), { shape, settings, seed: 5 }));
  const back = make();
  const stored = await store.load('f', expectedPpo(shape, settings));
  back.import(ppoState('f', stored!));
  learn(agent);
  learn(back);
  t.deepEqual(back.export(), agent.export());
  await store.delete('f');
  t.is(await store.load('f'), null);
});
