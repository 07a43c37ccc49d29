import test from 'ava';
import { preservationOf, type View } from '../../../agents/index.js';
import {
  congestionCharge,
  publishedReward,
  type ScalingOutcome,
  scalingReward,
  scalingRewardSettings,
} from '../../../agents/simppo/index.js';
import { chargeOf } from '../../../agents/simppo/reward.js';
import type { Bytes, Millicores } from '../../../config/index.js';
import { others, view } from './scene.js';

const outcome: ScalingOutcome = {
  tail: 200,
  slo: 100,
  cpuUse: 0.5,
  memoryUse: 0.3,
  late: 0.1,
  failed: 0,
};
const near = (t: { true(of: boolean, message?: string): void }, a: number, b: number): void =>
  t.true(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

test('SLO preservation is SLO / p99 above the SLO, otherwise 1', (t) => {
  t.deepEqual(
    [50, 100, 200, 400, 0].map((p99) => preservationOf(100, p99)),
    [1, 1, 0.5, 0.25, 1],
  );
});

test('the published reward is .7 SLO preservation + .3 mean use', (t) => {
  // .7 x 100/200 + .3 x (.5 + .3)/2
  near(t, publishedReward(0.5, 0.5, 0.3), 0.47);
  near(t, publishedReward(1, 0.5, 0.3), 0.82);
});

test('an average function is charged the excess, and nothing without one', (t) => {
  // Among 4, an average function has a quarter of the total.
  near(t, congestionCharge(0.4, 4, 2500, 10_000), 0.4);
  near(t, congestionCharge(0.4, 4, 5000, 10_000), 0.8);
  t.is(congestionCharge(-0.1, 4, 5000, 10_000), 0);
  t.is(congestionCharge(0.4, 1, 0, 0), 0);
});

test('a function is charged against those on its host, not against the cluster', (t) => {
  const demand = (cpu: number) => ({ cpu: cpu as Millicores, memory: 0 as Bytes });
  const charge = (own: number, excess: number, around: Partial<View>): number =>
    chargeOf(view({ demand: demand(own) }, { price: { cpu: excess, memory: 0 }, ...around }));
  const invoker = (functionDemand?: number) => ({
    host: 'h1',
    occupancy: { cpu: 1.5, memory: 0 },
    price: { cpu: 0.5, memory: 0 },
    ...(functionDemand === undefined ? {} : { functionDemand }),
  });
  // Ten functions on each of ten hosts: the one here asks as much as the others on average.
  const spread = others({ members: 9, demand: demand(9 * 15_000) });
  const average = invoker(1500);
  near(t, charge(1500, 0.5, { others: spread, invoker: average }), 0.5);
  near(t, charge(750, 0.5, { others: spread, invoker: average }), 0.25);
  // Two functions on a hot host, 98 idle ones elsewhere.
  const idle = others({ members: 99, demand: demand(7500 + 98 * 10) });
  near(t, charge(7500, 0.02, { others: idle, invoker: invoker(7500) }), 0.02);
  // One host: the totals are its own. A quarter of the demand is of one of four functions.
  near(t, charge(1000, 0.5, { others: others(), invoker: invoker() }), 0.5);
  t.is(charge(9000, 0.9, { others: others(), invoker: invoker() }), 1);
});

test('agents learn from preservation, use, late and failed shares, charge, reversal', (t) => {
  const rewardOf = (changes: Partial<ScalingOutcome>, charge = 0, isReversal = false): number =>
    scalingReward({ ...outcome, late: 0, ...changes }, charge, isReversal, {
      ...scalingRewardSettings,
      failed: 0.7,
    });
  // .3 x .4 of use; a p99 of ten times the SLO is half way to the ratio of 100 on a log scale.
  near(t, rewardOf({ tail: 90 }), 0.7 + 0.12);
  near(t, rewardOf({ tail: 1000 }), 0.35 + 0.12);
  near(t, rewardOf({ tail: 1e6 }), 0.12);
  // Less .3 x .1 late, .7 x .05 failed, .5 of the charge, .1 for the reversal.
  const expected = 0.7 * (1 - Math.log(2) / Math.log(100)) + 0.12 - 0.03 - 0.035 - 0.5 - 0.1;
  near(t, rewardOf({ late: 0.1, failed: 0.05 }, 1, true), expected);
});
