import { testProp } from '@fast-check/ava';
import test from 'ava';
import fc from 'fast-check';
import { clampShares } from '../../../../openwhisk-plugin/decision/index.js';
import {
  CgroupLimitWriter,
  formulaOfRuntime,
} from '../../../../openwhisk-plugin/host/cgroup/index.js';
import {
  distinctFromUserWeight,
  formulaOf,
  isRuntimeWeight,
  runtimeWeight,
  scaledWeight,
  sharesOfWeight,
} from '../../../../openwhisk-plugin/host/cgroup/shares.js';

test('both runtimes make these weights of these shares, and neither is drift', (t) => {
  for (const [shares, linear, curved] of [
    [128, 5, 21],
    [256, 10, 35],
    [1024, 39, 100],
    [2000, 77, 170],
    [2, 1, 1],
    [262144, 10000, 10000],
  ] as const) {
    t.is(runtimeWeight(shares, 'linear'), linear);
    t.is(runtimeWeight(shares, 'curved'), curved);
    t.true(isRuntimeWeight(shares, linear) && isRuntimeWeight(shares, curved));
    t.false(isRuntimeWeight(shares, 3333));
  }
  t.is(formulaOf(128, 5), 'linear');
  t.is(formulaOf(128, 21), 'curved');
  t.is(formulaOf(2, 1), null, 'both agree, so nothing is learned');
  t.is(formulaOf(128, 50), null);
});

test('v1 expresses every whole share; v2 returns the nearest one that it expresses', (t) => {
  const one = new CgroupLimitWriter({ cgroupVersion: 1 });
  t.is(one.expressible(131.4), 131);
  const two = new CgroupLimitWriter({ cgroupVersion: 2 });
  // 128 shares are weight 5: the next step up is 6/5, so +5 % cannot be expressed.
  t.is(two.expressible(134, 128), 128);
  t.is(two.expressible(150, 128), 153.6);
  // A sixteenth of 5 is below the kernel's smallest weight, 1: a fifth is the least.
  t.is(two.expressible(8, 128), 25.6);
});

testProp(
  'no shares are outside the range of the kernel',
  [fc.double({ noNaN: true }), fc.integer({ min: 2, max: 262144 })],
  (t, requested, user) => {
    const shares = clampShares(requested);
    t.true(shares >= 2 && shares <= 262144 && Number.isInteger(shares));
    for (const formula of ['linear', 'curved'] as const) {
      const weight = scaledWeight(requested, user, runtimeWeight(user, formula));
      t.true(weight >= 1 && weight <= 10000 && Number.isInteger(weight));
    }
  },
);

testProp(
  'the user shares keep the runtime weight, and more shares never weigh less',
  [
    fc.integer({ min: 2, max: 262144 }),
    fc.integer({ min: 2, max: 262144 }),
    fc.integer({ min: 2, max: 262144 }),
  ],
  (t, user, a, b) => {
    for (const formula of ['linear', 'curved'] as const) {
      const base = runtimeWeight(user, formula);
      t.is(scaledWeight(user, user, base), base);
      t.is(Math.round(sharesOfWeight(base, user, base)), user);
      const [less, more] = a < b ? [a, b] : [b, a];
      t.true(scaledWeight(less, user, base) <= scaledWeight(more, user, base));
    }
  },
);

test("the runtime's version decides the formula, and an unknown runtime gives none", (t) => {
  // https://github.com/opencontainers/runc/issues/4896 (1.3.2, 1.4.0-rc.1),
  // https://github.com/containers/crun/pull/1767 (1.23).
  for (const [runtime, formula] of [
    ['runc 1.1.5+ds1', 'linear'],
    ['runc 1.3.1', 'linear'],
    ['runc 1.3.2', 'curved'],
    ['runc v1.4.0-rc.1', 'curved'],
    ['crun 1.22', 'linear'],
    ['crun 1.23', 'curved'],
    ['crun 1.23.1', 'curved'],
    ['youki 0.5.5', null],
    ['runc', null],
    ['', null],
  ] as const)
    t.is(formulaOfRuntime(runtime), formula, runtime);
});

testProp(
  "a weight of ours differs from either runtime's, by at most two steps",
  [fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 2, max: 262144 })],
  (t, weight, user) => {
    const chosen = distinctFromUserWeight(weight, user);
    t.false(isRuntimeWeight(user, chosen));
    t.true(chosen >= 1 && chosen <= 10_000 && Math.abs(chosen - weight) <= 2);
  },
);
