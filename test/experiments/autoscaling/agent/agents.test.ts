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

test('the price by idleness: who uses all that it is granted pays nothing', (t) => {
  const totals = { capacity: 8192, allocated: 16_384, idle: 8192 };
  near(t, scalingCharge(observed({ cpuUse: 1 }), totals, 4, 'idle'), 0);
  // A use of half of the grant: half of 4096 idle, 1 x 4 x 2048/8192 = 1.
  near(t, scalingCharge(observed({ cpuUse: 0.5 }), totals, 4, 'idle'), 1);
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
    [0, 0, 0],
    'mf8',
    new Float32Array(scalingWidth('mf8')),
  );
  t.is(input.length, 17 + 10);
  t.true(input.every((value) => value >= 0 && value <= 1));
});

test('an agent without the virtual agent sees nothing of others', (t) => {
  const inputIn = (virtual: 'none' | 'mf8', allocated: number): number[] => {
    const totals = { capacity: 10_000, allocated, idle: allocated / 2 };
    const published = publishedFeatures(observed(), totals);
    const view = { observed: observed(), published, others: null, totals };
    const to = new Float32Array(scalingWidth(virtual));
    return [...scalingInput(view, 10, [0, 0, 0], virtual, to)];
  };
  t.deepEqual(inputIn('none', 5000), inputIn('none', 9000));
  t.notDeepEqual(inputIn('mf8', 5000), inputIn('mf8', 9000));
});

test('the excess of requests is visible at three times the capacity, where agents start', (t) => {
  const inputAt = (allocated: number): number[] => {
    const totals = { capacity: 10_000, allocated, idle: 0 };
    const published = publishedFeatures(observed(), totals);
    const view = { observed: observed(), published, others: null, totals };
    return [...scalingInput(view, 10, [0, 0, 0], 'mf8', new Float32Array(scalingWidth('mf8')))];
  };
  t.notDeepEqual(inputAt(30_000), inputAt(35_000));
});

test('an agent sees its own last step, as taking it back costs', (t) => {
  const totals = { capacity: 10_000, allocated: 5000, idle: 0 };
  const view = {
    observed: observed(),
    published: publishedFeatures(observed(), totals),
    others: null,
    totals,
  };
  const after = (last: readonly [number, number, number]): Float32Array =>
    scalingInput(view, 10, last, 'none', new Float32Array(scalingWidth('none')));
  t.deepEqual([...after([1, 0, -1])].slice(14, 17), [1, 0.5, 0]);
  t.deepEqual([...after([0, -1, 0])].slice(14, 17), [0.5, 0, 0.5]);
});

test('each agent learns for itself; those that do not learn keep their weights', (t) => {
  const engine = defaultEngine(() => {});
  const settings = { ...scalingSettings, batchEpisodes: 1 };
  const names = ['/guest/a', '/guest/b', '/guest/c'];
  const totals = { capacity: 10_000, allocated: 12_000, idle: 2000 };
  const members = names.map((name) => ({ name, state: null }));
  const team = new ScalingTeam({ engine, settings, decisions: 4, seed: 1, members });
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

test('an update learns from whole episodes, each followed by the state after its end', (t) => {
  const engine = defaultEngine(() => {});
  const settings = { ...scalingSettings, batchEpisodes: 3 };
  const totals = { capacity: 10_000, allocated: 12_000, idle: 2000 };
  const members = [{ name: '/guest/a', state: null }];
  const team = new ScalingTeam({ engine, settings, decisions: 4, seed: 1, members });
  t.teardown(() => team.dispose());
  const { rollout } = team.agents[0]!.ppo;
  for (let episode = 0; episode < 7; episode++) {
    team.begin();
    let allObserved = [observed()];
    for (let step = 0; step < 4; step++) {
      allObserved = team.decide(allObserved, totals, true).map((held) => observed({ held }));
      team.learn(allObserved, totals);
    }
    t.is(rollout.rows, 4 * ((episode % 3) + 1));
    team.end(allObserved, totals);
  }
  // Seven episodes of four steps: two updates of twelve rows, four rows wait for the third.
  t.deepEqual(team.export()[0]!.counters, { updates: 2, steps: 24 });
  t.deepEqual(
    rollout.segments.map(({ from, to }) => [from, to]),
    [[0, 4]],
  );
});

test('a longer episode than agents were made for is refused, not cut short', (t) => {
  const engine = defaultEngine(() => {});
  const settings = { ...scalingSettings, batchEpisodes: 1 };
  const totals = { capacity: 10_000, allocated: 12_000, idle: 2000 };
  const members = [{ name: '/guest/a', state: null }];
  const team = new ScalingTeam({ engine, settings, decisions: 1, seed: 1, members });
  t.teardown(() => team.dispose());
  team.decide([observed()], totals, true);
  team.learn([observed()], totals);
  team.decide([observed()], totals, true);
  t.throws(() => team.learn([observed()], totals), { message: /rows are full/ });
});
