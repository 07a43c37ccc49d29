import { join } from 'node:path';
import test from 'ava';
import {
  orthogonal,
  projectPackages,
  saveCheckpoint,
  scoreShape,
  TensorFlowEngine,
} from '../../../agents/nn/index.js';
import { SeededRandom } from '../../../config/index.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { engineSuite } from './engine-suite.js';
import { draws, silent } from './fixtures.js';
import { naiveOutputs } from './naive.js';

/** On the native library, which `npm run tensorflow:install` brings. */
let native = true;
try {
  await projectPackages.load('@tensorflow/tfjs-node');
} catch (error) {
  native = false;
  test('the native library of tfjs-node is there', (t) => {
    const [reason] = String(error).split('\n');
    const what = `tfjs-node does not load (npm run tensorflow:install): ${reason}`;
    if (process.env.CI) t.fail(what);
    else t.log(`NOT RUN: ${what}`);
    t.pass();
  });
}

if (native) {
  test('the engine `tensorflow` is the native one, and warns of nothing', async (t) => {
    const engine = await TensorFlowEngine.load((text) => t.fail(text));
    t.true(engine.native);
    t.regex(engine.detail, /native library/);
  });
  test('tfjs-node opens a checkpoint’s folder by itself', async (t) => {
    const folder = temporaryFolder('checkpoint');
    const parameters = orthogonal(scoreShape, 1, new SeededRandom(1));
    const networks = { score: { shape: scoreShape, parameters, moments: null } };
    await saveCheckpoint(folder, {
      kind: 'faasrm',
      seed: 1,
      counters: {},
      configuration: {},
      networks,
    });
    const tf = await projectPackages.load('@tensorflow/tfjs-node');
    const model = await tf.loadLayersModel(`file://${join(folder, 'model.json')}`);
    const x = draws(11, new SeededRandom(2));
    const score = (
      model.predict(tf.tensor2d(x, [1, 11])) as import('@tensorflow/tfjs').Tensor
    ).dataSync()[0]!;
    t.true(Math.abs(score - naiveOutputs(scoreShape, Float64Array.from(parameters), x)[0]!) < 1e-5);
  });

  engineSuite(() => TensorFlowEngine.load(silent));
}
