import test from 'ava';
import { projectPackages, TensorFlowEngine } from '../../../agents/index.js';
import { engineSuite } from './engine-suite.js';
import { silent } from './fixtures.js';

/** On the native library, which `npm run tensorflow:install` brings. */
let native = true;
try {
  await projectPackages.load('@tensorflow/tfjs-node');
} catch (error) {
  native = false;
  test('the native library of tfjs-node is there', (t) => {
    const what = `tfjs-node does not load (npm run tensorflow:install): ${String(error).split('\n')[0]}`;
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
  engineSuite(() => TensorFlowEngine.load(silent));
}
