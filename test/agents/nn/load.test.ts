import test from 'ava';
import { loadEngine } from '../../../agents/nn/engines.js';
import { NetworkEngineError } from '../../../agents/nn/errors.js';
import {
  defaultEngine,
  engineSpeeds,
  projectPackages,
  TensorFlowEngine,
} from '../../../agents/nn/index.js';
import type { Packages, TensorFlow } from '../../../agents/nn/tensorflow/load.js';
import { SeededRandom } from '../../../config/index.js';
import { batchOf, scoreShape, seeded, silent, stepSettings } from './fixtures.js';

/** The real package, with tfjs-node behaving as told. */
const packages = (node: () => TensorFlow): Packages => ({
  load: (name) => (name === '@tensorflow/tfjs-node' ? node() : projectPackages.load(name)),
});

const notInstalled = (): never => {
  throw Object.assign(new Error("Cannot find module '@tensorflow/tfjs-node'"), {
    code: 'MODULE_NOT_FOUND',
  });
};

test.serial(
  'without tfjs-node TensorFlow.js itself runs, with one warning, and an agent trains',
  async (t) => {
    const warnings: string[] = [];
    const engine = await TensorFlowEngine.load(
      (text) => warnings.push(text),
      packages(notInstalled),
    );
    t.is(warnings.length, 1);
    t.regex(warnings[0]!, /cannot run tfjs-node: .*tensorflow:install/);
    t.false(engine.native);
    t.regex(engine.detail, /^tfjs 4\.22\.0, backend cpu/);
    const pair = seeded(engine, scoreShape, scoreShape);
    t.true(pair.ppoStep(batchOf(4, scoreShape, new SeededRandom(1)), stepSettings).applied);
  },
);

test.serial(
  'a tfjs-node whose kernels throw, as on Node 24, is skipped with one warning',
  async (t) => {
    const tf = await projectPackages.load('@tensorflow/tfjs');
    const broken = new Proxy(tf, {
      get: (target, name) =>
        name === 'matMul'
          ? () => {
              throw new TypeError('(0 , util_1.isNullOrUndefined) is not a function');
            }
          : Reflect.get(target, name),
    });
    const warnings: string[] = [];
    const engine = await TensorFlowEngine.load(
      (text) => warnings.push(text),
      packages(() => broken),
    );
    t.false(engine.native);
    t.is(warnings.length, 1);
    t.regex(warnings[0]!, /isNullOrUndefined/);
  },
);

test.serial('a package that loads and computes something else is not believed', async (t) => {
  const tf = await projectPackages.load('@tensorflow/tfjs');
  const wrong = new Proxy(tf, {
    get: (target, name) =>
      name === 'matMul' ? () => target.tensor([12]) : Reflect.get(target, name),
  });
  const warnings: string[] = [];
  t.false(
    (
      await TensorFlowEngine.load(
        (text) => warnings.push(text),
        packages(() => wrong),
      )
    ).native,
  );
  t.regex(warnings[0]!, /12 instead of 11/);
});

test.serial(
  'engines are found by name; without WebAssembly the reference takes over with one warning',
  async (t) => {
    t.is((await loadEngine('js', silent)).name, 'js');
    t.is((await loadEngine('simd', silent)).name, 'simd');
    await t.throwsAsync(loadEngine('abacus' as 'js', silent), {
      instanceOf: NetworkEngineError,
    });
    const speeds = await engineSpeeds(silent, 1);
    t.deepEqual(
      speeds.map(({ name, runs }) => [name, runs]),
      [
        ['simd', true],
        ['js', true],
        ['tensorflow', true],
      ],
    );
    t.is(defaultEngine(() => t.fail()).name, 'simd');
    const warnings: string[] = [];
    const engine = defaultEngine(
      (text) => warnings.push(text),
      () => {
        throw new Error('no SIMD');
      },
    );
    t.is(engine.name, 'js');
    t.is(warnings.length, 1);
  },
);
