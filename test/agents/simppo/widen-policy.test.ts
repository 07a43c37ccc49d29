import test from 'ava';
import { expectCheckpoint } from '../../../agents/nn/checkpoint/checkpoint.js';
import { CheckpointForeignError, JsEngine, ShapeError } from '../../../agents/nn/index.js';
import { ppoCheckpoint, ppoShapes } from '../../../agents/ppo/index.js';
import {
  expectedPolicy,
  newWeights,
  policyCheckpoint,
} from '../../../agents/simppo/base-policy.js';
import { simppoSettings, simppoShape, widenPolicy } from '../../../agents/simppo/index.js';
import { singleAgentSettings } from '../../../agents/simppo/settings.js';

const engine = new JsEngine();
const [narrow, wide] = [singleAgentSettings, simppoSettings];

test('a widened policy decides as before, whatever the new inputs say', (t) => {
  const state = newWeights({ engine, settings: narrow, seed: 4 });
  const before = engine.network(ppoShapes(simppoShape(narrow), narrow.ppo).actor);
  const after = engine.network(ppoShapes(simppoShape(wide), wide.ppo).actor);
  before.import(state.actor);
  const wider = widenPolicy(
    { ...state, counters: { ...state.counters, updates: 9 } },
    narrow,
    wide,
  );
  after.import(wider.actor);
  const own = Float32Array.from({ length: 16 }, (_, i) => i / 16);
  const [expected, logits] = [new Float32Array(7), new Float32Array(7)];
  before.forward(own, expected);
  for (const other of [0, 0.3, 1]) {
    after.forward(Float32Array.from([...own, ...new Array<number>(13).fill(other)]), logits);
    t.deepEqual(logits, expected);
  }
  t.is(wider.counters.updates, 0);
  // 13 more inputs to 64 units, in the weights and both moments.
  t.is(wider.critic.length, state.critic.length + 832);
  t.is(wider.actorMoments.first.length, state.actor.length + 832);
});

test('what does not begin with the narrower input is refused', (t) => {
  const state = newWeights({ engine, settings: wide, seed: 4 });
  t.throws(() => widenPolicy(state, wide, narrow), { instanceOf: ShapeError });
});

test('a policy whose inputs had another meaning is refused, even with the same widths', (t) => {
  const state = newWeights({ engine, settings: wide, seed: 4 });
  const expected = expectedPolicy(wide);
  t.notThrows(() => expectCheckpoint('it', policyCheckpoint(state, wide, 4), expected));
  // As earlier releases stored it.
  const old = ppoCheckpoint(state, { shape: simppoShape(wide), settings: wide.ppo, seed: 4 });
  t.throws(() => expectCheckpoint('it', old, expected), { instanceOf: CheckpointForeignError });
});
