import test from 'ava';
import { JsEngine, ShapeError } from '../../../agents/nn/index.js';
import { ppoShapes } from '../../../agents/ppo/index.js';
import { newWeights } from '../../../agents/simppo/base-policy.js';
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
  const own = Float32Array.from({ length: 14 }, (_, i) => i / 14);
  const [expected, logits] = [new Float32Array(7), new Float32Array(7)];
  before.forward(own, expected);
  for (const other of [0, 0.3, 1]) {
    after.forward(Float32Array.from([...own, ...new Array<number>(10).fill(other)]), logits);
    t.deepEqual(logits, expected);
  }
  t.is(wider.counters.updates, 0);
  // Ten more inputs to 64 units, in the weights and both moments.
  t.is(wider.critic.length, state.critic.length + 640);
  t.is(wider.actorMoments.first.length, state.actor.length + 640);
});

test('what does not begin with the narrower input is refused', (t) => {
  const state = newWeights({ engine, settings: wide, seed: 4 });
  t.throws(() => widenPolicy(state, wide, narrow), { instanceOf: ShapeError });
});
