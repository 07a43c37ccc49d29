import test from 'ava';
import { defaultEngine } from '../../../../agents/nn/index.js';
import { SIMPPO_ACTIONS } from '../../../../agents/simppo/index.js';
import { scalingStep } from '../../../../experiments/autoscaling/agent/agent.js';
import {
  publishedFeatures,
  scalingInput,
  scalingWidth,
} from '../../../../experiments/autoscaling/agent/features.js';
import { LocalMeanField } from '../../../../experiments/autoscaling/agent/mean-field.js';
import { SIMPPO_SIZES } from '../../../../experiments/autoscaling/agent/settings.js';
import {
  type ScalingState,
  scalingCharge,
} from '../../../../experiments/autoscaling/agent/state.js';
import { ScalingTeam, scalingSettings } from '../../../../experiments/autoscaling/index.js';

const MIB = 2 ** 20;
const observed = (of: Partial<ScalingState> = {}): ScalingState => ({
  held: { cpu: 1024, memory: 512 * MIB, containers: 4 },
  cpuUse: 0.5,
  memoryUse: 0.3,
  busy: 0.5,
  rate: 10,
  tail: 200,
  slo: 100,
  waiting: 0,
  late: 0.1,
  failed: 0,
  ...of,
});
const near = (t: { true(of: boolean, message?: string): void }, a: number, b: number): void =>
  t.true(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

test('the price by share: an average function is charged the excess', (t) => {
  // Occupancy 2, own 4096 of 16384 among 4: 1 x 4 x 1/4 = 1.
  near(
    t,
    scalingCharge(observed(), { capacity: 8192, allocated: 16_384, idle: 0 }, 4, 'allocated'),
    1,
  );
  near(
    t,
    scalingCharge(observed(), { capacity: 16_384, allocated: 16_384, idle: 0 }, 4, 'allocated'),
    0,
  );
});

test('the price by idleness: who uses all that it is given pays nothing', (t) => {
  const totals = { capacity: 8192, allocated: 16_384, idle: 8192 };
  // At occupancy 2 a use of .5 of the promise is all that is given.
  near(t, scalingCharge(observed({ cpuUse: 0.5 }), totals, 4, 'idle'), 0);
  // A use of .25: half of 4096 idle, 1 x 4 x 2048/8192 = 1.
  near(t, scalingCharge(observed({ cpuUse: 0.25 }), totals, 4, 'idle'), 1);
});

test("only the platform's bounds mask: no user's limit", (t) => {
  const { least, most } = SIMPPO_SIZES;
  const mask = new Uint8Array(SIMPPO_ACTIONS.length);
  const after = (held: ScalingState['held'], name: (typeof SIMPPO_ACTIONS)[number]) =>
    scalingStep(held, [0, 0, 0], scalingSettings, mask, () => SIMPPO_ACTIONS.indexOf(name)).held;
  after(most, 'stay');
  // stay, cpu up, cpu down, memory up, memory down, out, in
  t.deepEqual([...mask], [1, 0, 1, 0, 1, 0, 1]);
  after(least, 'stay');
  t.deepEqual([...mask], [1, 1, 0, 1, 0, 1, 0]);
  const { held } = observed();
  t.deepEqual(after(held, 'cpu up'), { ...held, cpu: 1152 });
  t.deepEqual(after(held, 'out'), { ...held, containers: 5 });
});

test('the virtual agent is the mean of all others, in any order and number', (t) => {
  const totals = { capacity: 100_000, allocated: 50_000, idle: 0 };
  const names = Array.from({ length: 110 }, (_, i) => `/guest/f${i}`);
  const allObserved = names.map((_, i) => observed({ cpuUse: i / 200, tail: 50 + i }));
  const states = allObserved.map((one) => publishedFeatures(one, totals));
  const actions = names.map((_, i) => [i % 3 === 0 ? 1 : 0, i % 2 === 0 ? -1 : 1, 0]);
  const field = new LocalMeanField();
  field.step(names, allObserved, states, actions, totals);
  const others = field.others('/guest/f7')!;
  const mean = (of: readonly (readonly number[])[], k: number): number =>
    of.reduce((sum, one, i) => (i === 7 ? sum : sum + one[k]!), 0) / 109;
  for (let k = 0; k < 6; k++) near(t, others.mean[k]!, mean(states, k));
  near(t, others.actionMean[1]!, mean(actions, 1));
  const input = scalingInput(
    { observed: allObserved[7]!, published: states[7]!, others, totals },
    10,
    'mf8',
    new Float32Array(scalingWidth('mf8')),
  );
  t.is(input.length, 14 + 10);
  t.true(input.every((value) => value >= 0 && value <= 1));
});

test('each agent learns for itself; those that do not learn keep their weights', (t) => {
  const engine = defaultEngine(() => {});
  const settings = { ...scalingSettings, batch: 4 };
  const names = ['/guest/a', '/guest/b', '/guest/c'];
  const totals = { capacity: 10_000, allocated: 12_000, idle: 2000 };
  const members = names.map((name) => ({ name, state: null }));
  const team = new ScalingTeam({ engine, settings, seed: 1, members });
  t.teardown(() => team.dispose());
  const before = team.export();
  t.notDeepEqual(before[0]!.actor, before[1]!.actor);
  team.learning[1] = false;
  team.begin();
  let allObserved = names.map((_, i) => observed({ cpuUse: 0.2 * i }));
  for (let step = 0; step < 4; step++) {
    const held = team.decide(allObserved, totals, true);
    allObserved = held.map((one, i) => observed({ held: one, cpuUse: 0.1 * i + 0.05 * step }));
    // Those who do not learn have a reward all the same: their detector needs it.
    t.true(team.learn(allObserved, totals).every(Number.isFinite));
  }
  team.end(allObserved, totals);
  const after = team.export();
  t.deepEqual(
    after.map(({ counters }) => counters),
    [1, 0, 1].map((updates) => ({ updates, steps: 4 * updates })),
  );
  t.deepEqual(after[1]!.actor, before[1]!.actor);
  t.notDeepEqual(after[0]!.actor, before[0]!.actor);
});
