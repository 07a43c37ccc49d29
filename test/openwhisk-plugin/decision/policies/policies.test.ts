import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import {
  type Bytes,
  type Millicores,
  policyNames,
  policyTable,
  SeededRandom,
} from '../../../../config/index.js';
import {
  createPolicy,
  type DecisionSettings,
  type PolicyContext,
  type Run,
} from '../../../../openwhisk-plugin/decision/index.js';
import { freyrSettings } from '../../../../openwhisk-plugin/decision/settings.js';
import { decider, limits, Player, plain, policyContext } from '../helpers.js';

const context = (settings: DecisionSettings = plain): PolicyContext => policyContext({ settings });

/** A run whose CPU may lie in [400, 1000] of 1000 millicores; quota mode unless said. */
function run(quota = 1, shares = 128): Run {
  const player = new Player(decider(), limits(256, quota, shares));
  player.run.cpu.lower = 400;
  player.run.cpu.upper = 1000;
  return player.run;
}

test('every policy of the table has its name and its kind', (t) => {
  for (const name of policyNames)
    t.like(createPolicy(name), { name, kind: policyTable[name].kind });
});

test('smallest and largest in range are the ends of the range', (t) => {
  const r = run();
  t.is(createPolicy('smallest-in-range').choose(r, r.cpu, context()), 400);
  t.is(createPolicy('largest-in-range').choose(r, r.cpu, context()), 1000);
});

testProp(
  'random in range never leaves it',
  [fc.nat(), fc.double({ min: 0, max: 5000, noNaN: true })],
  (t, seed, width) => {
    const r = run();
    r.cpu.upper = r.cpu.lower + width;
    const c = { ...context(), random: new SeededRandom(seed) };
    const requested = createPolicy('random-in-range').choose(r, r.cpu, c);
    t.true(requested >= r.cpu.lower && requested <= r.cpu.upper);
  },
);

test('random in range reaches both ends in whole units under the published presets', (t) => {
  const r = run();
  r.cpu.lower = 2000;
  r.cpu.upper = 4000;
  const c = context(freyrSettings('freyr-code'));
  const seen = new Set<number>();
  const policy = createPolicy('random-in-range');
  for (let i = 0; i < 200; i++) seen.add(policy.choose(r, r.cpu, c));
  t.deepEqual([...seen].sort(), [2000, 3000, 4000]);
});

test('target answers what the agent wants, for either resource', (t) => {
  const r = run();
  r.targetCpu = 700 as Millicores;
  r.targetMemory = 99 as Bytes;
  const policy = createPolicy('target');
  t.is(policy.choose(r, r.cpu, context()), 700);
  t.is(policy.choose(r, r.memory, context()), 99);
  // Weight mode, user CPU 1000 (8 cores x 128/1024): a factor.
  const weight = run(0);
  weight.targetCpu = 1500 as Millicores;
  t.is(policy.choose(weight, weight.cpu, context()), 1.5);
});

test('equal gives every container the kernel’s default, memory leaves OpenWhisk’s', (t) => {
  const r = run(0, 64);
  t.is(createPolicy('equal').choose(r, r.cpu, context()) * 64, 1024);
  t.is(createPolicy('memory').choose(r, r.cpu, context()), 1);
});

test('short-first follows the reference, the function’s alpha and the smallest ceiling', (t) => {
  const r = run(0);
  r.fn.expectedCpu.add(400, 0, 1000);
  t.is(createPolicy('short-first').choose(r, r.cpu, context()), 0.25);
  t.is(createPolicy('short-first', { alpha: 0.5 }).choose(r, r.cpu, context()), 0.5);
  r.fn.expectedCpu.forget();
  r.fn.expectedCpu.add(4000, 0, 1000);
  t.is(
    createPolicy('short-first').choose(r, r.cpu, context()),
    1 / 8,
    'unproven functions keep an eighth',
  );
  r.fn.minWeightFactor = 1 / 64;
  t.is(createPolicy('short-first').choose(r, r.cpu, context()), 1 / 16, 'the clamp');
  r.fn.alpha = 0;
  t.is(createPolicy('short-first').choose(r, r.cpu, context()), 1);
});

test('parameters come from outside and are checked, naming what is wrong', (t) => {
  const unknown = t.throws(() => createPolicy('best-of-all'), { code: 'GLN_POLICY_UNKNOWN' });
  t.regex(unknown?.message ?? '', /best-of-all/);
  for (const bad of [
    { alpha: 3 },
    { alpha: '1' },
    { alpha: Number.NaN },
    { alpha: null },
    { beta: 1 },
    5,
    'x',
    [],
  ]) {
    const error = t.throws(() => createPolicy('short-first', bad), {
      code: 'GLN_POLICY_PARAMETERS',
    });
    t.regex(error?.message ?? '', /short-first/);
  }
  t.throws(() => createPolicy('memory', { x: 1 }), { code: 'GLN_POLICY_PARAMETERS' });
  t.notThrows(() => createPolicy('memory', null));
});
