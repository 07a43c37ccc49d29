import test from 'ava';
import type { PpoStepSettings } from '../../../agents/nn/engine.js';
import {
  type Engine,
  inputsOf,
  JsEngine,
  type NetworkShape,
  orthogonal,
  outputsOf,
  parameterCount,
  ShapeError,
  SimdEngine,
  type TensorFlowEngine,
} from '../../../agents/nn/index.js';
import { SeededRandom } from '../../../config/index.js';
import {
  actorShape,
  batchOf,
  criticShape,
  draws,
  gradientsAgree,
  largestDifference,
  oddShape,
  relativeDifference,
  scoreShape,
  seeded,
  stepSettings,
} from './fixtures.js';
import { differences, naiveLoss, naiveOutputs } from './naive.js';

const shapes: readonly NetworkShape[] = [
  actorShape,
  criticShape,
  scoreShape,
  oddShape,
  { widths: [3, 2], activation: 'tanh' },
  // Twenty-eight columns: a tile of sixteen and one of twelve in one row.
  { widths: [1, 28, 64, 9], activation: 'relu' },
];

/** With beta1 = 0 the first moment after one step is the gradient itself. */
const bare: PpoStepSettings = { ...stepSettings, beta1: 0, maxGradNorm: Number.MAX_VALUE };

/**
 * What every engine must do, and do alike. AVA runs each test file in a process of its own: one
 * TensorFlow.js per file.
 */
export function engineSuite(load: () => Promise<TensorFlowEngine>): void {
  const js = new JsEngine();
  const simd = new SimdEngine();
  let tensorflow: TensorFlowEngine;
  const engines: Engine[] = [js, simd];

  test.before(async () => {
    tensorflow = await load();
    engines.push(tensorflow);
  });

  test('every engine says the same logits as the definition, to 1e-4, one row and many', (t) => {
    for (const shape of shapes) {
      const random = new SeededRandom(7);
      const parameters = orthogonal(shape, 1, random.fork('parameters'));
      const rows = 70; // more than the 64 rows the kernels work on at once, and no multiple of 4
      const inputs = draws(rows * inputsOf(shape), random);
      const width = outputsOf(shape);
      const expected: number[] = [];
      for (let row = 0; row < rows; row++)
        expected.push(
          ...naiveOutputs(
            shape,
            Float64Array.from(parameters),
            inputs.subarray(row * inputsOf(shape), (row + 1) * inputsOf(shape)),
          ),
        );
      for (const engine of engines) {
        const network = engine.network(shape);
        network.import(parameters);
        const outputs = new Float32Array(rows * width);
        network.forwardBatch(inputs, rows, outputs);
        t.true(
          largestDifference(outputs, expected) < 1e-4,
          `${engine.name} ${shape.widths}, ${rows} rows`,
        );
        const one = new Float32Array(width);
        network.forward(inputs.slice(inputsOf(shape), 2 * inputsOf(shape)), one);
        t.true(
          largestDifference(one, expected.slice(width, 2 * width)) < 1e-4,
          `${engine.name} ${shape.widths}, one row`,
        );
        network.dispose();
      }
    }
  });

  test('the kernels’ tanh is within 1e-6 of Math.tanh and never outside of [-1, 1]', (t) => {
    // 1-1-1 with kernels of 1 and biases of 0 is tanh itself.
    const network = simd.network({ widths: [1, 1, 1], activation: 'tanh' });
    network.import(Float32Array.of(1, 0, 1, 0));
    const input = new Float32Array(1);
    const output = new Float32Array(1);
    let worst = 0;
    for (let x = -20; x <= 20; x += 1 / 256) {
      input[0] = x;
      network.forward(input, output);
      worst = Math.max(worst, Math.abs(output[0]! - Math.tanh(x)));
      if (Math.abs(output[0]!) > 1) t.fail(`tanh(${x}) = ${output[0]}`);
    }
    t.true(worst < 1e-6, `${worst}`);
  });

  test('gradients are those of TensorFlow.js in each layer within 1e-5', (t) => {
    for (const shape of shapes) {
      const random = new SeededRandom(11);
      const rows = 96;
      const inputs = draws(rows * inputsOf(shape), random);
      const delta = draws(rows * outputsOf(shape), random);
      const parameters = orthogonal(shape, 1, random.fork('parameters'));
      const gradient = (engine: Engine): { parameters: Float32Array; inputs: Float32Array } => {
        const network = engine.network(shape);
        network.import(parameters);
        const result = {
          parameters: new Float32Array(parameters.length),
          inputs: new Float32Array(inputs.length),
        };
        network.gradients(inputs, rows, delta, result.parameters, result.inputs);
        network.dispose();
        return result;
      };
      const oracle = gradient(tensorflow);
      for (const engine of [js, simd]) {
        const found = gradient(engine);
        gradientsAgree(t, shape, found.parameters, oracle.parameters, 1e-5);
        t.true(
          relativeDifference(found.inputs, oracle.inputs) < 1e-5,
          `${engine.name}: dL/d inputs`,
        );
      }
    }
  });

  test('the PPO gradient is TensorFlow.js’s (1e-5) and finite differences’ (1e-3)', (t) => {
    const pairs = [
      [actorShape, criticShape],
      [
        { widths: [7, 13, 3], activation: 'tanh' },
        { widths: [7, 6, 1], activation: 'tanh' },
      ],
    ] as const;
    for (const [actor, critic] of pairs) {
      const batch = batchOf(100, actor, new SeededRandom(3));
      const gradient = (engine: Engine) => {
        const pair = seeded(engine, actor, critic);
        t.true(pair.ppoStep(batch, bare).applied);
        const result = {
          actor: pair.actor.exportMoments().first,
          critic: pair.critic.exportMoments().first,
        };
        pair.dispose();
        return result;
      };
      const oracle = gradient(tensorflow);
      const before = seeded(js, actor, critic);
      const actorAt = Float64Array.from(before.actor.export());
      const criticAt = Float64Array.from(before.critic.export());
      const random = new SeededRandom(4);
      const some = (length: number): number[] =>
        Array.from({ length: 60 }, () => random.below(length));
      const actorIndices = some(actorAt.length);
      const criticIndices = some(criticAt.length);
      const actorSlopes = differences(
        (p) => naiveLoss(actor, critic, p, criticAt, batch, bare),
        actorAt,
        actorIndices,
      );
      const criticSlopes = differences(
        (p) => naiveLoss(actor, critic, actorAt, p, batch, bare),
        criticAt,
        criticIndices,
      );
      const pick = (from: Float32Array, indices: readonly number[]): Float32Array =>
        Float32Array.from(indices, (i) => from[i]!);
      for (const engine of [js, simd]) {
        const found = gradient(engine);
        gradientsAgree(t, actor, found.actor, oracle.actor, 1e-5);
        gradientsAgree(t, critic, found.critic, oracle.critic, 1e-5);
        t.true(
          relativeDifference(pick(found.actor, actorIndices), Float32Array.from(actorSlopes)) <
            1e-3,
        );
        t.true(
          relativeDifference(pick(found.critic, criticIndices), Float32Array.from(criticSlopes)) <
            1e-3,
        );
      }
    }
  });

  test('200 PPO steps in every engine lead to the same loss, to 1e-3', (t) => {
    const batch = batchOf(64, actorShape, new SeededRandom(5));
    const run = (engine: Engine): number[] => {
      const pair = seeded(engine, actorShape, criticShape);
      const losses: number[] = [];
      for (let step = 0; step < 200; step++) {
        const { policyLoss, valueLoss, entropy, applied } = pair.ppoStep(batch, stepSettings);
        t.true(applied);
        losses.push(policyLoss + 0.5 * valueLoss - 0.01 * entropy);
      }
      pair.dispose();
      return losses;
    };
    const [first, ...others] = engines.map(run);
    t.true(first![199]! < first![0]! - 0.05, 'it learns');
    for (const losses of others)
      t.true(largestDifference(losses, first!) < 1e-3, `${largestDifference(losses, first!)}`);
  });

  test('plain training steps of every engine lead to the same parameters', (t) => {
    const random = new SeededRandom(6);
    const inputs = draws(32 * 11, random);
    const wanted = draws(32, random);
    const start = orthogonal(scoreShape, 1, random.fork('parameters'));
    const trained = engines.map((engine) => {
      const network = engine.network(scoreShape);
      network.import(start);
      const outputs = new Float32Array(32);
      for (let step = 0; step < 100; step++) {
        network.forwardBatch(inputs, 32, outputs);
        const delta = outputs.map((value, i) => (value - wanted[i]!) / 32);
        t.true(network.train(inputs, 32, delta, { ...stepSettings, learningRate: 1e-2 }).applied);
      }
      t.is(network.exportMoments().steps, 100);
      return network.export();
    });
    for (const parameters of trained.slice(1))
      t.true(largestDifference(parameters, trained[0]!) < 1e-3);
  });

  test('exported parameters and moments train on identically', (t) => {
    const batch = batchOf(20, oddShape, new SeededRandom(8));
    for (const engine of engines) {
      const shape: NetworkShape = { widths: [7, 1], activation: 'relu' };
      const pair = seeded(engine, oddShape, shape);
      for (let step = 0; step < 5; step++) pair.ppoStep(batch, stepSettings);
      const copy = engine.actorCritic(oddShape, shape);
      copy.actor.import(pair.actor.export());
      copy.critic.import(pair.critic.export());
      copy.actor.importMoments(pair.actor.exportMoments());
      copy.critic.importMoments(pair.critic.exportMoments());
      t.deepEqual(copy.actor.exportMoments(), pair.actor.exportMoments());
      pair.ppoStep(batch, stepSettings);
      copy.ppoStep(batch, stepSettings);
      t.deepEqual(copy.actor.export(), pair.actor.export(), engine.name);
      t.deepEqual(copy.critic.export(), pair.critic.export(), engine.name);
    }
  });

  test('masked actions get no gradient, rows keep their masks, one row trains', (t) => {
    const actor: NetworkShape = { widths: [2, 3], activation: 'tanh' };
    const critic: NetworkShape = { widths: [2, 1], activation: 'tanh' };
    for (const engine of engines) {
      const pair = seeded(engine, actor, critic);
      const inputs = Float32Array.of(0.5, -0.25);
      pair.ppoStep(
        {
          rows: 1,
          inputs,
          actions: Int32Array.of(0),
          masks: Uint8Array.of(1, 0, 1),
          logProbabilities: Float32Array.of(Math.log(0.5)),
          advantages: Float32Array.of(1),
          returns: Float32Array.of(1),
        },
        bare,
      );
      const { first } = pair.actor.exportMoments();
      // Kernel [2][3], bias [3]: column 1 is the masked action.
      t.deepEqual([first[1]!, first[4]!, first[7]!].map(Math.abs), [0, 0, 0], engine.name);
      t.true(Math.abs(first[0]!) > 1e-3 && Math.abs(first[2]!) > 1e-3);
      t.true(pair.actor.export().every(Number.isFinite));
    }
  });

  test('logits of 1000, 0 and -1000 have an entropy of 0, and a finite gradient', (t) => {
    const actor: NetworkShape = { widths: [1, 3], activation: 'tanh' };
    const critic: NetworkShape = { widths: [1, 1], activation: 'tanh' };
    for (const engine of engines) {
      const pair = engine.actorCritic(actor, critic);
      pair.actor.import(Float32Array.of(0, 0, 0, 1000, 0, -1000));
      const inputs = Float32Array.of(1);
      const result = pair.ppoStep(
        {
          rows: 1,
          inputs,
          actions: Int32Array.of(0),
          masks: Uint8Array.of(1, 1, 1),
          logProbabilities: Float32Array.of(0),
          advantages: Float32Array.of(0),
          returns: Float32Array.of(0),
        },
        stepSettings,
      );
      t.is(Math.abs(result.entropy), 0, engine.name);
      t.true(result.applied && Number.isFinite(result.norm));
      t.true(pair.actor.export().every(Number.isFinite));
    }
  });

  test('what is not finite changes nothing, and what is merely huge is clipped', (t) => {
    const good = batchOf(8, actorShape, new SeededRandom(9));
    const corrupted = [
      { ...good, returns: good.returns.map(() => Number.POSITIVE_INFINITY) },
      { ...good, advantages: good.advantages.map((_, i) => (i === 3 ? Number.NaN : 0.1)) },
      { ...good, logProbabilities: good.logProbabilities.map(() => Number.NaN) },
    ];
    for (const engine of engines) {
      const pair = seeded(engine, actorShape, criticShape);
      const before = [pair.actor.export(), pair.critic.export()];
      for (const batch of corrupted) {
        t.false(pair.ppoStep(batch, stepSettings).applied, engine.name);
        t.deepEqual([pair.actor.export(), pair.critic.export()], before);
      }
      t.is(pair.actor.exportMoments().steps, 0);
      // A reward of 1e9, and a policy that has moved by e^100 since it acted.
      const huge = {
        ...good,
        returns: good.returns.map(() => 1e9),
        logProbabilities: good.logProbabilities.map(() => -100),
      };
      t.true(pair.ppoStep(huge, stepSettings).applied, engine.name);
      t.true(pair.actor.export().every(Number.isFinite));
      t.true(pair.critic.export().every(Number.isFinite));
      // Adam's first step is at most its rate.
      t.true(
        largestDifference(pair.critic.export(), before[1]!) <= 1.01 * stepSettings.learningRate,
      );
    }
  });

  test('wrong lengths, masked executed actions and impossible shapes are refused', (t) => {
    const batch = batchOf(4, actorShape, new SeededRandom(10));
    for (const engine of engines) {
      const network = engine.network(scoreShape);
      t.throws(() => network.forward(new Float32Array(10), new Float32Array(1)), {
        instanceOf: ShapeError,
      });
      t.throws(() => network.import(new Float32Array(3)), { instanceOf: ShapeError });
      t.throws(() => network.forwardBatch(new Float32Array(22), 3, new Float32Array(3)), {
        instanceOf: ShapeError,
      });
      const pair = seeded(engine, actorShape, criticShape);
      t.throws(() => pair.ppoStep({ ...batch, returns: new Float32Array(3) }, stepSettings), {
        instanceOf: ShapeError,
      });
      const masks = batch.masks.slice();
      masks[batch.actions[0]!] = 0;
      t.throws(() => pair.ppoStep({ ...batch, masks }, stepSettings), {
        instanceOf: ShapeError,
        message: /was masked/,
      });
      t.throws(() => engine.actorCritic(actorShape, actorShape), { instanceOf: ShapeError });
      for (const widths of [[3], [3, 0, 1], [3, 1.5, 1], [3, 5000, 1]])
        t.throws(() => engine.network({ widths, activation: 'tanh' }), { instanceOf: ShapeError });
    }
  });

  test('orthogonal kernels: orthonormal times the gain, biases 0, repeatable', (t) => {
    const shape: NetworkShape = { widths: [64, 64, 10], activation: 'tanh' };
    const parameters = orthogonal(shape, 0.01, new SeededRandom(1));
    t.deepEqual(parameters, orthogonal(shape, 0.01, new SeededRandom(1)));
    t.notDeepEqual(parameters, orthogonal(shape, 0.01, new SeededRandom(2)));
    const column = (o: number): number[] =>
      Array.from({ length: 64 }, (_, i) => parameters[i * 64 + o]!);
    const dot = (a: number[], b: number[]): number =>
      a.reduce((sum, value, i) => sum + value * b[i]!, 0);
    t.true(Math.abs(dot(column(0), column(0)) - 2) < 1e-5);
    t.true(Math.abs(dot(column(0), column(1))) < 1e-5);
    t.true(parameters.subarray(64 * 64, 64 * 64 + 64).every((bias) => bias === 0));
    const head = parameters.subarray(65 * 64, 65 * 64 + 640);
    t.true(Math.abs(Math.sqrt(dot([...head], [...head])) - 0.01 * Math.sqrt(10)) < 1e-6);
    t.is(parameterCount(scoreShape), 11 * 32 + 32 + 32 * 16 + 16 + 16 + 1);
  });
}
