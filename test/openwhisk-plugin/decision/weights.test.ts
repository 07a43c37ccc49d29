import test from 'ava';
import { HostReference } from '../../../openwhisk-plugin/decision/host-reference.js';
import { FunctionState } from '../../../openwhisk-plugin/decision/index.js';
import {
  adjustWeightExponent,
  meanTimeRatio,
} from '../../../openwhisk-plugin/decision/slowdown-bound.js';
import {
  scaleShares,
  shortFirstFactor,
  targetFactor,
} from '../../../openwhisk-plugin/decision/weights.js';
import { comparisonOf, comparisonSums } from '../../../rules/index.js';
import { limits, plain } from './helpers.js';

const BAD = [0, -1, Number.NaN];

test('one unknown is enough for no short-first factor', (t) => {
  for (const bad of BAD) {
    t.is(shortFirstFactor(bad, 100, 1, 1 / 16, 16), Number.NaN, `expected ${bad}`);
    t.is(shortFirstFactor(50, bad, 1, 1 / 16, 16), Number.NaN, `reference ${bad}`);
  }
  t.is(shortFirstFactor(50, 100, Number.NaN, 1 / 16, 16), Number.NaN);
  t.is(shortFirstFactor(50, 100, 1, 1 / 16, 16), 2);
});

test('one bad input is enough for no factor of an agent', (t) => {
  for (const bad of [...BAD, Number.POSITIVE_INFINITY]) {
    t.is(targetFactor(bad, 1000), 1, `target ${bad}`);
  }
  for (const bad of [Number.NaN, -1000, Number.POSITIVE_INFINITY])
    t.is(targetFactor(1000, bad), 1, `user ${bad}`);
  t.is(targetFactor(1500, 1000), 1.5);
  t.is(targetFactor(5000, 1000), 4);
  t.is(targetFactor(100, 1000), 0.25);
});

test('one bad factor leaves the container its own shares', (t) => {
  for (const bad of [...BAD, Number.POSITIVE_INFINITY]) t.is(scaleShares(128, bad), 128, `${bad}`);
  t.is(scaleShares(128, 2), 256);
  t.is(scaleShares(128, 1e-9), 2);
  t.is(scaleShares(128, 1e9), 262_144);
});

/** A function with ten control runs of 100 ms, and twenty managed ones x `slowdown`. */
function judged(slowdown: number, weightFactor: number, changes: Partial<FunctionState> = {}) {
  const fn = new FunctionState('/g/f', '1', limits(256), 'guarantee', 1);
  for (let i = 0; i < 10; i++) fn.addControl(100, 0, 1000);
  for (let i = 0; i < 20; i++) fn.sinceAlpha.add(100 * slowdown, 0, 1000);
  Object.assign(fn, { weightFactor }, changes);
  adjustWeightExponent(fn, plain);
  return { alpha: fn.alpha, least: fn.minWeightFactor, judged: fn.sinceAlpha.count === 0 };
}

test('alpha changes only past the bound, or well within it', (t) => {
  // The bound is 1.25; (1 + 1.25) / 2 = 1.125.
  t.deepEqual(judged(1.25, 0.5), { alpha: 1, least: 1 / 8, judged: false });
  t.deepEqual(judged(1.26, 0.5), { alpha: 0.75, least: 1 / 8, judged: true });
  t.deepEqual(judged(1.125, 0.5), { alpha: 1, least: 1 / 8, judged: false });
  t.deepEqual(judged(1.12, 0.5), { alpha: 1, least: 1 / 16, judged: true });
});

/** What is shown and what the bound acts on, for runs of both arms, and alpha after them. */
function figures(managed: readonly number[], control: readonly number[]) {
  const fn = new FunctionState('/g/f', '1', limits(256), 'guarantee', 1);
  for (const duration of control) fn.addControl(duration, 0, 1000);
  for (const duration of managed)
    for (const arm of [fn.managed, fn.sinceAlpha]) arm.add(duration, 0, 1000);
  fn.weightFactor = 0.5;
  const compared = comparisonOf(comparisonSums([fn]));
  const shown = compared.known ? compared.ratio : Number.NaN;
  const ratio = meanTimeRatio(fn);
  adjustWeightExponent(fn, plain);
  return { slowdown: shown.toFixed(3), meanTimeRatio: ratio.toFixed(3), alpha: fn.alpha };
}
const runs = (count: number, duration: number) => Array<number>(count).fill(duration);

test('the bound acts on the mean-time ratio, which rare long runs raise', (t) => {
  // 10^(1/20) = 1.122, within the bound of 1.25; (19 + 10) / 20 = 1.45 is above it.
  t.deepEqual(figures([...runs(19, 100), 1000], runs(20, 100)), {
    slowdown: '1.122',
    meanTimeRatio: '1.450',
    alpha: 0.75,
  });
  // 1.3 / 20^(1/100) = 1.262 is above 1.25; 1.3 / ((99 + 20) / 100) = 1.092 is within it.
  t.deepEqual(figures(runs(20, 130), [...runs(99, 100), 2000]), {
    slowdown: '1.262',
    meanTimeRatio: '1.092',
    alpha: 1,
  });
});

test('a mean-time ratio needs 20 runs and 10 control samples', (t) => {
  t.is(figures(runs(19, 130), runs(20, 100)).meanTimeRatio, 'NaN');
  t.is(figures(runs(20, 130), runs(9, 100)).meanTimeRatio, 'NaN');
  t.is(figures(runs(20, 130), runs(10, 100)).meanTimeRatio, '1.300');
});

test('an alpha below .05 falls to 0', (t) => {
  t.is(judged(2, 0.5, { alpha: 0.049 }).alpha, 0);
  t.is(judged(2, 0.5, { alpha: 0.05 }).alpha, 0.05 * 0.75);
});

test('at its ceiling and its least weight a function has nothing to recover', (t) => {
  t.deepEqual(judged(1, 0.5, { minWeightFactor: 1 / 16 }), {
    alpha: 1,
    least: 1 / 16,
    judged: false,
  });
  t.is(judged(1, 0.5, { minWeightFactor: 1 / 16, alpha: 0.5 }).alpha, 0.55);
  t.is(judged(1, 0.5, { minWeightFactor: 1 / 12 }).least, 1 / 16, 'never below the clamp');
});

test('a function that is not deprioritized recovers alpha, not its least weight', (t) => {
  t.deepEqual(judged(2, 1, { alpha: 0.5 }), { alpha: 0.55, least: 1 / 8, judged: true });
  t.deepEqual(judged(2, 1), { alpha: 1, least: 1 / 8, judged: false });
});

test('months later the reference still weighs a function by its last activation', (t) => {
  const halfLife = 1000;
  const reference = new HostReference();
  const known = (value: number, now: number): FunctionState => {
    const fn = new FunctionState(`/g/${value}`, '1', limits(256), 'guarantee', 1);
    fn.expectedCpu.add(value, now, halfLife);
    reference.update(fn, now, halfLife);
    return fn;
  };
  // 1000 half-lives, then one more: 10 ms, and 1000 that count twice.
  const first = known(10, 1_000_000);
  known(1000, 1_001_000);
  t.true(Math.abs(reference.value - 10 ** ((10 + 3 * 2000) / 2010)) < 1e-6);
  // 100 half-lives later what was known has no weight left.
  known(50, 1_101_000);
  t.true(Math.abs(reference.value - 50) < 1e-6);
  reference.remove(first);
  t.true(Math.abs(reference.value - 50) < 1e-6);
});

test('many functions that need nothing do not move the reference', (t) => {
  const reference = new HostReference();
  const add = (name: string, cpu: number, activations: number): void => {
    const fn = new FunctionState(name, '1', limits(256), 'guarantee', 1);
    for (let i = 0; i < activations; i++) fn.expectedCpu.add(cpu, 0, 1000);
    reference.update(fn, 0, 1000);
  };
  add('/g/busy', 200, 50);
  for (let i = 0; i < 50; i++) add(`/g/once${i}`, 1, 1);
  // 10 s of CPU time against 50 ms; each function counted once, it would be 14.
  t.true(Math.abs(reference.value - 200 ** (10_000 / 10_050)) < 1e-6);
});

test('an expectation of nothing, or none, does not count in the reference', (t) => {
  const reference = new HostReference();
  const expecting = (...samples: number[]): void => {
    const fn = new FunctionState('/g/f', '1', limits(256), 'guarantee', 1);
    for (const sample of samples) fn.expectedCpu.add(sample, 0, 1000);
    reference.update(fn, 0, 1000);
  };
  expecting(100);
  expecting();
  expecting(0);
  t.true(Math.abs(reference.value - 100) < 1e-9);
});
