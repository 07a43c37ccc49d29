import test from 'ava';
import fc from 'fast-check';
import type { Millicores, Millis } from '../../../../config/index.js';
import { createPolicy } from '../../../../openwhisk-plugin/decision/index.js';
import { DecayingHistogram } from '../../../../openwhisk-plugin/decision/statistics.js';
import { decider, limits, Player, policyContext } from '../helpers.js';

const HOUR = 3_600_000;
const histogram = (...samples: number[]): DecayingHistogram => {
  const made = new DecayingHistogram();
  for (const sample of samples) made.add(sample, 0, HOUR);
  return made;
};
/** A bucket's middle is within half of its 5 % of every sample in it. */
const near = (actual: number, expected: number, share = 0.03): boolean =>
  Math.abs(actual / expected - 1) <= share;

test('a known length: the index is one over what remains', (t) => {
  const known = histogram(1000, 1000, 1000);
  t.true(near(known.gittinsIndex(0), 1 / 1000));
  t.true(near(known.gittinsIndex(500), 1 / 500, 0.06));
});

test('mostly short: the index is high at first and low once it turns out to be long', (t) => {
  const mixed = histogram(...Array<number>(9).fill(10), 1000);
  // To 10 ms: .9 of them end, and all spend 10 ms. To the end: 1 / (.9 x 10 + .1 x 1000) is less.
  t.true(near(mixed.gittinsIndex(0), 0.9 / 10));
  t.true(near(mixed.gittinsIndex(20), 1 / 980));
});

test('longer than ever before: as much again; without samples nothing is known', (t) => {
  t.is(histogram(10).gittinsIndex(400), 1 / 400);
  t.is(histogram().gittinsIndex(0), Number.NaN);
});

test('the index is never below one over the mean of what remains', (t) => {
  const sample = fc.double({ min: 1, max: 1e5, noNaN: true });
  const property = fc.property(
    fc.array(sample, { minLength: 1, maxLength: 40 }),
    fc.double({ min: 0, max: 0.9, noNaN: true }),
    (samples, share) => {
      const attained = share * Math.max(...samples);
      const left = samples.filter((each) => each > attained * 1.06);
      const remaining = left.reduce((sum, each) => sum + (each - attained), 0) / left.length;
      // One slice to the end of all is among those compared; buckets are 5 % wide.
      return histogram(...samples).gittinsIndex(attained) >= 1 / (remaining + 0.06 * 1e5);
    },
  );
  fc.assert(property);
  t.pass();
});

test('the index is the best ratio of all slices, however many there are', (t) => {
  const middle = (bucket: number): number => 0.1 * 1.05 ** (bucket - 0.5);
  const bucket = fc.integer({ min: 1, max: 300 });
  const property = fc.property(
    fc.array(bucket, { minLength: 1, maxLength: 60 }),
    fc.double({ min: 0, max: 1.1, noNaN: true }),
    (buckets, share) => {
      // Below the upper edge of each bucket, whose middle is what counts.
      const index = histogram(...buckets.map((each) => 0.1 * 1.05 ** (each - 0.1)));
      const attained = share * middle(Math.max(...buckets));
      const left = buckets.map(middle).filter((each) => each > attained);
      const ratios = left.map((end) => {
        const spent = left.reduce((sum, each) => sum + Math.min(each, end) - attained, 0);
        return left.filter((each) => each <= end).length / spent;
      });
      const best = left.length === 0 ? 1 / attained : Math.max(...ratios);
      return near(index.gittinsIndex(attained), best, 1e-9);
    },
  );
  fc.assert(property);
  t.pass();
});

test('weight factors are (reference x index)^2, within a range', (t) => {
  const player = new Player(decider(), limits(256, 0, 128));
  const policy = createPolicy('gittins');
  const { run, fn } = player;
  const factor = (reference: number, used = 0, highestFactor = 4096): number =>
    policy.revise!(run, used, policyContext({ reference: reference as Millis, highestFactor }));
  t.is(factor(1000), Number.NaN);
  for (let i = 0; i < 3; i++) fn.cpuTime.add(1000, 0, HOUR);
  t.true(near(factor(1000), 1, 0.06));
  t.true(near(factor(2000), 4, 0.06));
  t.true(near(factor(1000, 500), 4, 0.12));
  t.is(factor(100_000), 4096);
  t.is(factor(100_000, 0, 16), 16, 'beside what is not managed');
  t.is(factor(1), 1, 'not proven');
  t.is(factor(1, 0, 16), 1 / 8);
  fn.minWeightFactor = 0;
  t.is(factor(1), 1 / 2);
  t.is(factor(1, 0, 16), 1 / 16);
  run.expectedCpu = 500; // by the size of its body
  t.is(factor(1000), 4);
  t.is(factor(1000, 250), 16);
  run.targetCpu = (run.cpu.user * 2) as Millicores; // the agent's factor stands above the clamp
  t.is(factor(1000), 8);
});

test('a new function ranks as the first activations of others did', (t) => {
  const { run, fn } = new Player(decider(), limits(256, 0, 128));
  const firstCpuTimes = histogram(100, 100, 100, 4000);
  const reference = 400 as Millis;
  const factor = (used: number): number =>
    createPolicy('gittins').revise!(run, used, policyContext({ reference, firstCpuTimes }));
  // Three of four end within 100 ms: .75 / (100 ms each) = 1 / 133 ms.
  t.true(near(factor(0), (400 / 133) ** 2, 0.06));
  // Past them only the long one is left.
  t.is(factor(200), 1, 'not proven');
  // One of its own of 4 s: 1 / 4000 ms, and half a chance of one like the others' is more.
  fn.cpuTime.add(4000, 0, HOUR);
  t.true(near(factor(0), (400 / 133 / 2) ** 2, 0.06));
  for (let i = 0; i < 19; i++) fn.cpuTime.add(4000, 0, HOUR);
  t.is(factor(0), 1, 'twenty of its own are enough');
});

test('the host counts the first activation of each function', (t) => {
  const one = decider();
  for (const name of ['/g/a', '/g/b']) {
    const player = new Player(one, limits(256, 0, 128), name);
    for (let i = 0; i < 3; i++) player.whole(100 * (i + 1), 1);
  }
  const { firstCpuTimes } = one.reference;
  t.is(firstCpuTimes.count, 2);
  t.true(near(firstCpuTimes.percentile(1), 100, 0.06));
});

test('it asks again after 100 ms of CPU time or a step of 15 %', (t) => {
  const policy = createPolicy('gittins');
  const { run } = new Player(decider(), limits(256, 0, 128));
  t.is(policy.revisesAt?.(run, 0, policyContext()), 100);
  t.is(policy.revisesAt?.(run, 2000, policyContext()), 2300);
});

test('without revision a weight is chosen at the start only', (t) => {
  const policy = createPolicy('gittins', { revise: false });
  t.is(policy.revise, undefined);
  t.is(createPolicy('deadline-first', { revise: false }).revise, undefined);
  const { run, fn } = new Player(decider(), limits(256, 0, 128));
  for (let i = 0; i < 3; i++) fn.cpuTime.add(1000, 0, HOUR);
  const context = policyContext({ reference: 1000 as Millis });
  t.is(policy.choose(run, run.cpu, context), createPolicy('gittins').choose(run, run.cpu, context));
});
