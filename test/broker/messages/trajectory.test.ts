import test from 'ava';
import { decodeTrajectory, encodeMessage } from '../../../broker/messages/index.js';
import type { Trajectory } from '../../../broker/messages/trajectory.js';
import type { Millis } from '../../../config/index.js';

const step: Trajectory = {
  v: 1,
  function: '/guest/hello',
  invoker: 'invoker-1',
  author: {
    host: 'agents-1',
    boot: 'boot1',
    sequence: 7,
    manager: 'simppo',
    policy: 'base',
    updates: 900,
    sampled: false,
  },
  episode: 2,
  step: 17,
  state: [0.1, 0, 1],
  mask: [1, 1, 0],
  action: 1,
  logProbability: -0.7,
  reward: 0.71,
  discount: 0.9,
  span: 10_000 as Millis,
};
const kindOf = (changes: object): string => {
  const result = decodeTrajectory(encodeMessage({ ...step, ...changes }));
  return result.ok ? 'ok' : result.kind;
};

test('a step comes back as it was written', (t) => {
  t.deepEqual(decodeTrajectory(encodeMessage(step)), { ok: true, message: step });
});

test('an inconsistent step is refused', (t) => {
  t.is(kindOf({ action: 2 }), 'malformed', 'its mask forbids it');
  t.is(kindOf({ action: 3 }), 'malformed', 'there is no such action');
  t.is(kindOf({ logProbability: 0.1 }), 'malformed', 'more probable than certain');
  t.is(kindOf({ logProbability: Number.NEGATIVE_INFINITY }), 'not_finite');
  t.is(kindOf({ reward: Number.NaN }), 'not_finite');
  t.is(kindOf({ mask: [1, 2, 0] }), 'malformed');
  t.is(kindOf({ state: [] }), 'malformed');
  t.is(kindOf({ discount: 1.1 }), 'malformed');
  t.is(kindOf({ v: 2 }), 'wrong_version');
  t.is(kindOf({ state: new Array(5000).fill(0.123456) }), 'too_large');
});
