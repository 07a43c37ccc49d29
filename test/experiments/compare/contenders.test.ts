import test from 'ava';
import { loadConfig } from '../../../config/index.js';
import { lineUp } from '../../../experiments/compare/contenders.js';
import {
  contender,
  contenderNames,
  FLOORS,
  NOISE,
  trainedContender,
  UnknownContenderError,
} from '../../../experiments/compare/index.js';
import type { TrainedPolicy } from '../../../experiments/training/index.js';

test('fixed is OpenWhisk alone', (t) => {
  const { manager, safeguard, modes } = contender('fixed');
  t.deepEqual([manager, safeguard, modes], ['fixed', false, ['weight', 'quota']]);
});

test('a manager decides by targets, in both modes', (t) => {
  const { manager, safeguard, quotaPolicy, weightPolicy, modes } = contender('greedy');
  t.deepEqual(
    [manager, safeguard, quotaPolicy, weightPolicy],
    ['greedy', true, 'target', 'target'],
  );
  t.deepEqual(modes, ['weight', 'quota']);
});

test('a policy works beside fixed, in the mode where it chooses', (t) => {
  const short = contender('short-first');
  t.deepEqual(
    [short.manager, short.safeguard, short.weightPolicy, short.quotaPolicy],
    ['fixed', true, 'short-first', 'target'],
  );
  t.deepEqual(short.modes, ['weight']);
  const smallest = contender('smallest-in-range');
  t.deepEqual([smallest.quotaPolicy, smallest.weightPolicy], ['smallest-in-range', 'target']);
  t.deepEqual(smallest.modes, ['quota']);
});

test('manager+policy is one of each', (t) => {
  const both = contender('right-size+short-first');
  t.deepEqual(
    [both.name, both.manager, both.weightPolicy, both.modes],
    ['right-size+short-first', 'right-size', 'short-first', ['weight', 'quota']],
  );
});

test('a policy for ranges and one for weights go together, with or without a manager', (t) => {
  const both = contender('smallest-in-range+short-first');
  t.deepEqual(
    [both.name, both.manager, both.quotaPolicy, both.weightPolicy, both.modes],
    [
      'smallest-in-range+short-first',
      'fixed',
      'smallest-in-range',
      'short-first',
      ['weight', 'quota'],
    ],
  );
  const three = contender('simppo+largest-in-range+sfs');
  t.deepEqual(
    [three.manager, three.quotaPolicy, three.weightPolicy],
    ['simppo', 'largest-in-range', 'sfs'],
  );
});

for (const name of [
  'unknown',
  'short-first+smallest-in-range',
  'short-first+greedy',
  'greedy+unknown',
  'greedy+short-first+equal',
  'target',
  'unknown+short-first',
  '',
])
  test(`no contender is called '${name}'`, (t) => {
    const error = t.throws(() => contender(name), { instanceOf: UnknownContenderError });
    t.regex(error.hint, /names: fixed, /);
  });

test('a slip of the pen is recognized', (t) => {
  t.regex(
    t.throws(() => contender('short-frist'), { instanceOf: UnknownContenderError }).hint,
    /did you mean short-first\?/,
  );
});

test('fixed, fixed against fixed, the shipped default and the baselines always run', (t) => {
  const quota = lineUp(['greedy'], 'quota').map(({ name }) => name);
  t.deepEqual(quota, ['fixed', ...NOISE.map(({ name }) => name), 'default', ...FLOORS, 'greedy']);
  const weight = lineUp(['greedy', 'greedy', 'smallest-in-range'], 'weight').map(
    ({ name }) => name,
  );
  t.deepEqual(
    weight,
    ['fixed', ...NOISE.map(({ name }) => name), 'default', 'greedy'],
    'ranges are no matter of weights',
  );
});

test('the default is what an installation without a configuration of its own runs', (t) => {
  const { agents, decision } = loadConfig({}).config;
  const { manager, safeguard, quotaPolicy, weightPolicy } = contender('default');
  t.deepEqual(
    [manager, safeguard, quotaPolicy, weightPolicy],
    [agents.manager, true, decision.policy.quota, decision.policy.weight],
  );
});

test('a trained policy decides in its mode, beside the policies of its training', (t) => {
  const state = {} as TrainedPolicy['state'];
  const agents = trainedContender('trial', { manager: 'simppo', mode: 'weight', state });
  t.like(agents, {
    name: 'trial',
    manager: 'simppo',
    safeguard: true,
    quotaPolicy: 'target',
    weightPolicy: 'deadline-first',
    modes: ['weight'],
  });
  const scores = trainedContender('scored', { manager: 'faasrm', mode: 'quota', state });
  t.like(scores, {
    manager: 'fixed',
    quotaPolicy: 'faasrm',
    weightPolicy: 'deadline-first',
    modes: ['quota'],
  });
  const weight = lineUp(['greedy'], 'weight', [agents, scores]).map(({ name }) => name);
  t.true(weight.includes('trial') && !weight.includes('scored'));
});

test('all is every name, where it can act', (t) => {
  const names = new Set(
    [...lineUp(['all'], 'weight'), ...lineUp(['all'], 'quota')].map(({ name }) => name),
  );
  for (const name of contenderNames()) t.true(names.has(name), name);
  t.true(names.has('short-first') && names.has('hpa-vpa') && names.has('right-size'));
});
