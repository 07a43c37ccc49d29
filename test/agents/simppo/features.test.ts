import test from 'ava';
import { featuresOf, inputOf } from '../../../agents/simppo/features.js';
import { rewardOf, simppoSettings } from '../../../agents/simppo/index.js';
import { chargeOf } from '../../../agents/simppo/reward.js';
import type { Bytes, Millicores, Millis } from '../../../config/index.js';
import { amounts, observation } from '../../support/observations.js';
import { activations, others, view } from './scene.js';

const remembered = {
  held: { cpu: 800, memory: 256 * 2 ** 20, containers: 2 },
  rates: [2, 3] as const,
  slowdown: 0.5,
  last: [0, 1, -1] as const,
};
const bounds = { cpu: { lower: 400, upper: 1000 }, memory: null };
const near = (input: Float32Array): number[] => [...input].map((value) => Number(value.toFixed(6)));

test('the width of the input is that of its virtual agent, however many others there are', (t) => {
  for (const [virtual, width] of [
    ['none', 16],
    ['g4', 25],
    ['mf8', 29],
  ] as const) {
    t.is(featuresOf({ virtual }), width);
    for (const around of [null, others(), others({ members: 109 })])
      t.is(inputOf(view({}, { others: around }), remembered, bounds, virtual).length, width);
  }
});

test('an agent sees its own function first', (t) => {
  const input = near(inputOf(view(), remembered, bounds, 'none'));
  t.deepEqual(input.slice(0, 5), [0.4, 1, 0.1, 0.1, 0.2], 'without the CPU of the others');
  // (log2(3 / 2) / 3 + 1) / 2; 800 of 2 x 1000; 1 - 400 / 800; (.5 + 1) / 2; no objective; no
  // throttling; 100 of 256 MiB; quota mode; the last step: no containers, CPU up, memory down.
  t.deepEqual(input.slice(5), [0.597494, 0.4, 0.5, 0.75, 0, 0, 0.390625, 0, 0.5, 1, 0]);
});

test('mf8: the others’ means and mean actions, occupancy and price', (t) => {
  const price = { cpu: 0.25, memory: 0 };
  const input = near(inputOf(view({}, { others: others(), price }), remembered, bounds, 'mf8'));
  // Actions of -1..1 as 0..1; occupancy (.1 + .3) / 2.
  t.deepEqual(input.slice(16, 26), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.25, 0.2, 0.25]);
});

test('g4: the others’ share, mean step, SLO preservation and utilization; alone: zeros', (t) => {
  t.deepEqual(
    near(inputOf(view({}, { others: others() }), remembered, bounds, 'g4')).slice(16, 20),
    [0.3, 0.25, 0.2, 0.1],
  );
  const alone = near(
    inputOf(view({}, { others: others({ members: 0 }) }), remembered, bounds, 'g4'),
  );
  t.deepEqual(alone.slice(16, 20), [0, 0, 0, 0]);
});

test('with others an agent sees the load of its host, on logarithmic scales', (t) => {
  const invoker = {
    host: 'invoker-1',
    occupancy: { cpu: 3.3, memory: 0 },
    price: { cpu: 1, memory: 0 },
    pressure: 2,
    weights: 12_800,
  };
  const user = { ...observation().user, shares: 128 };
  const seen = near(inputOf(view({ user }, { invoker }), remembered, bounds, 'mf8')).slice(26);
  // ln(4.3) and ln(3) of ln(16); a hundred times its own weight: ln(101) of ln(1001).
  t.deepEqual(seen, [0.526084, 0.396241, 0.66801]);
  const twice = { ...invoker, occupancy: { cpu: 6.6, memory: 0 } };
  const more = near(inputOf(view({ user }, { invoker: twice }), remembered, bounds, 'mf8'));
  t.true(more[26]! > seen[0]!, 'beyond twice the capacity, too');
  t.deepEqual(near(inputOf(view({ user }), remembered, bounds, 'mf8')).slice(26), [0, 0, 0]);
});

test('an agent without others sees nothing that is not its own', (t) => {
  const invoker = {
    host: 'invoker-1',
    occupancy: { cpu: 3, memory: 1 },
    price: { cpu: 1, memory: 0 },
    pressure: 2,
    weights: 100,
  };
  const alone = inputOf(view(), remembered, bounds, 'none');
  const price = { cpu: 1, memory: 1 };
  const features = [0.4, 1, 0.1, 0.9, 0.1, 0.2];
  const loaded = view({}, { others: others(), price, invoker, features });
  t.deepEqual(inputOf(loaded, remembered, bounds, 'none'), alone);
});

const weights = { slo: 0.7, utilization: 0.3, slowdown: 0.5, price: 0.5, reversal: 0.1 };

test('the reward: kept objective, use of what was granted, slowdown, reversal', (t) => {
  // 400 of 1000 millicores used, no objective: preserved.
  t.true(Math.abs(rewardOf(view(), 0, false, weights) - (0.7 + 0.3 * 0.4)) < 1e-9);
  t.true(Math.abs(rewardOf(view(), 0.2, true, weights) - (0.82 - 0.1 - 0.1)) < 1e-9);
  t.true(
    Math.abs(rewardOf(view(), -0.2, false, weights) - 0.92) < 1e-9,
    'faster than the control arm pays',
  );
  const late = view({ ...activations(20, 200), slo: 100 as never, cpuMode: 'weight' });
  // 100 / 200 within the histogram's 4.5 %; a weight is no amount.
  t.true(Math.abs(rewardOf(late, 0, false, weights) - 0.35) < 0.02);
});

test('how much of the objective is used is seen below it too, where preservation is 1', (t) => {
  const used = (slo: number, each: number) =>
    near(
      inputOf(view({ slo: slo as Millis, ...activations(20, each) }), remembered, bounds, 'none'),
    )[9]!;
  // 50 of 200 ms, within a histogram's bucket; past the objective it is all used.
  t.true(Math.abs(used(200, 50) - 0.25) < 0.01);
  t.is(used(200, 900), 1);
});

test('in weight mode nothing is charged: a weight asks for no amount', (t) => {
  const around = { price: { cpu: 0.4, memory: 0 }, others: others() };
  t.is(chargeOf(view({ cpuMode: 'weight' }, around)), 0);
});

test('the price: the excess for an average function, its share for another, at most 1', (t) => {
  const price = { cpu: 0.4, memory: 0 };
  const demand = amounts(1000, 256);
  const around = { price, others: others() };
  t.true(Math.abs(chargeOf(view({ demand }, around)) - 0.4) < 1e-9, '1000 of 4000, four members');
  t.is(chargeOf(view({ demand, running: 3 }, around)), chargeOf(view({ demand }, around)));
  const one = others({ members: 99, demand: { cpu: 1 as Millicores, memory: 0 as Bytes } });
  t.is(chargeOf(view({ demand }, { price, others: one })), 1);
  t.is(chargeOf(view({ demand })), 0);
  t.true(Math.abs(rewardOf(view({ demand }, around), 0, false, weights) - (0.82 - 0.2)) < 1e-9);
  t.is(simppoSettings.virtual, 'mf8');
});
