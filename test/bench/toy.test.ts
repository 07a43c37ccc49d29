import test from 'ava';
import { JsEngine, SimdEngine } from '../../agents/nn/index.js';
import { ToyCluster } from '../../bench/toy/cluster.js';
import { ONE, SIX } from '../../bench/toy/toy.js';
import { doNothing, hpa, runRule, trainToy } from '../../bench/toy/train.js';
import { SeededRandom } from '../../config/index.js';

function at(arrivals: number, containers: number, shares = 1024) {
  const cluster = new ToyCluster(ONE, new SeededRandom(1));
  Object.assign(cluster.functions[0]!, { arrivals, containers, shares });
  cluster.measure();
  return cluster.functions[0]!;
}

test('the toy has the spot values derived from its formulas', (t) => {
  const near = (value: number, expected: number): boolean =>
    t.true(Math.abs(value - expected) < 5e-5, `${value}`);
  for (const [arrivals, containers, utilization, latency] of [
    [4, 3, 0.8889, 6],
    [4, 4, 0.6667, 2],
    [4, 9, 0.2963, 1.125],
  ] as const) {
    const f = at(arrivals, containers);
    near(f.utilization, utilization);
    near(f.latency, latency);
    t.is(f.sloPreservation, 1);
  }
  near(at(7, 5).latency, 10);
  near(at(7, 5).sloPreservation, 0.9);
  // Critical load counts as saturated, without the table's artefact.
  t.is(at(3, 2).sloPreservation, 0);
  // Shares matter: two containers of 2048 serve 3 each. Ten of them want 20 of 8 cores: 3 x .4 =
  // 1.2, of which .8 is used.
  near(at(4, 2, 2048).latency, 1);
  near(at(8, 10, 2048).latency, 2.5);
});

test('doing nothing and HPA earn what was published, so the toy is the published one', (t) => {
  // .830 and .852; arrivals differ by seed.
  t.true(Math.abs(runRule(doNothing, ONE, 1, 40_000) - 0.83) < 0.01);
  t.true(Math.abs(runRule(hpa, ONE, 1, 40_000) - 0.852) < 0.01);
  t.true(Math.abs(runRule(hpa, SIX, 1, 20_000) - 0.827) < 0.01);
});

test('impossible actions are masked', (t) => {
  const cluster = new ToyCluster(ONE, new SeededRandom(1));
  const f = cluster.functions[0]!;
  const mask = (containers: number, shares: number): string => {
    Object.assign(f, { containers, shares });
    return cluster.mask(0, new Uint8Array(5)).join('');
  };
  t.is(mask(1, 128), '11010');
  t.is(mask(10, 2048), '10101');
  t.is(mask(5, 1024), '11111');
});

test('one agent earns at least .90 per step after 40,000 steps, more than HPA', (t) => {
  const engine = new SimdEngine();
  for (const seed of [1, 2]) {
    const { training, curve } = trainToy({ ...ONE, engine, seed, steps: 40_000, meanField: false });
    t.log(`seed ${seed}: ${training.toFixed(3)}, do nothing .830, HPA .852`);
    t.true(training >= 0.9, `${training}`);
    t.true(curve[0]! < 0.83, 'untrained it is worse than doing nothing');
  }
});

test('six agents on 14 cores earn at least .87 with a price, and less without', (t) => {
  const engine = new SimdEngine();
  const priced = trainToy({ ...SIX, engine, seed: 1, steps: 15_000, meanField: true });
  const free = trainToy({ ...SIX, price: false, engine, seed: 1, steps: 10_000, meanField: false });
  t.log(
    `price ${priced.raw.toFixed(3)}, none ${free.raw.toFixed(3)}`,
    `utilization ${free.utilization.toFixed(2)}`,
  );
  t.true(priced.raw >= 0.87, `${priced.raw}`);
  t.true(free.raw < 0.75 && free.utilization < 0.2, `${free.raw}`);
});

test('the same seed gives the same run, to the bit', (t) => {
  for (const engine of [new SimdEngine(), new JsEngine()]) {
    const run = () => trainToy({ ...ONE, engine, seed: 3, steps: 1000, meanField: false });
    t.deepEqual(run(), run());
  }
});
