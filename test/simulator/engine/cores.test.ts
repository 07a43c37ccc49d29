import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { Activations } from '../../../simulator/engine/activations.js';
import { Cores } from '../../../simulator/engine/cores.js';
import { Levels } from '../../../simulator/engine/levels.js';
import { maxMinRates, playByHand, playOnCores } from './one-host.js';

const jobs = (quotas: fc.Arbitrary<number>) =>
  fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 400_000 }),
      work: fc.integer({ min: 1, max: 300_000 }),
      cap: fc.constantFrom(0.25, 0.4, 0.5, 1, 1, 2, 4),
      weight: fc.constantFrom(2, 32, 64, 64, 128, 1024),
      quota: quotas,
    }),
    { minLength: 1, maxLength: 12 },
  );
const none = fc.constant(0);

testProp(
  'shares are weighted max-min at every instant',
  [fc.constantFrom(1, 2, 3), jobs(none)],
  (t, cores, list) => {
    playOnCores(cores, list, (rates) => {
      const expected = maxMinRates(
        cores,
        rates.map(({ job }) => job),
      );
      rates.forEach(({ rate }, i) => {
        t.true(Math.abs(rate - expected[i]!) < 1e-6, `${rate} instead of ${expected[i]}`);
      });
    });
    t.pass();
  },
);

testProp(
  'who ends when is as exact arithmetic says',
  [fc.constantFrom(1, 2, 3), jobs(none)],
  (t, cores, list) => {
    const { ends } = playOnCores(cores, list);
    const expected = playByHand(cores, list);
    // Where a time is a whole microsecond but for rounding of doubles, the two may disagree by one;
    // a small share makes more of that.
    ends.forEach((end, i) => {
      t.true(
        Math.abs(end - expected[i]!) <= 1 + 1e-4 * expected[i]!,
        `${end} instead of ${expected[i]}`,
      );
    });
  },
);

testProp(
  'with cores for all, quotas are the kernel’s buckets to the microsecond',
  [jobs(fc.constantFrom(0, 5_000, 20_000, 50_000, 150_000))],
  (t, list) => {
    const { ends } = playOnCores(1000, list);
    const expected = playByHand(1000, list);
    ends.forEach((end, i) => {
      t.true(Math.abs(end - expected[i]!) <= 1.01, `${end} instead of ${expected[i]}`);
    });
  },
);

testProp(
  'quotas, weights and too few cores at once: all work is done within the cores that exist',
  [fc.constantFrom(1, 2, 3), jobs(fc.constantFrom(0, 0, 10_000, 50_000, 150_000))],
  (t, cores, list) => {
    const { ends, cpu, excess } = playOnCores(cores, list);
    t.true(excess < 2e-6, `${excess} cores too many`);
    list.forEach((job, i) => {
      t.true(Math.abs(cpu[i]! - job.work) < 1e-3, 'work done is work asked');
      // Alone, with all its quota ever gives: nothing is faster.
      const periods = job.quota > 0 ? Math.ceil(job.work / job.quota) : 0;
      const least = Math.max(job.work / job.cap, (periods - 1) * 100_000);
      t.true(ends[i]! - job.at >= least - 1, `${ends[i]! - job.at} is faster than ${least}`);
    });
  },
);

test('one interrupted on a host that is not tight: use is settled, at a tie it goes last', (t) => {
  const activations = new Activations();
  const c = activations.columns;
  const host = new Cores(activations, 1, 4, new Levels(1e12, 1));
  const join = (work: number): number => {
    const a = activations.allocate();
    c.host[a] = 0;
    c.done[a] = 0;
    c.cpuUsed[a] = 0;
    c.work[a] = work;
    c.stop[a] = work;
    c.cap[a] = 1;
    c.weight[a] = 64;
    c.quota[a] = 0;
    c.deadline[a] = Number.POSITIVE_INFINITY;
    c.tripRate[a] = Number.POSITIVE_INFINITY;
    host.join(a, 0);
    return a;
  };
  const [one, other] = [join(1000), join(1000)];
  // Each has a core for 1000 core-us: both end at 1000, first the one that joined first.
  t.is(host.next(0, 0), 1000);
  t.is(host.first(0), one);
  host.interrupted(one, 500);
  t.deepEqual([c.cpuUsed[one], c.cpuUsed[other]], [500, 500]);
  t.is(host.next(0, 500), 1000);
  t.is(host.first(0), other);
});

test('shares and a quota by hand', (t) => {
  // One core, two of equal weight: A (40 ms) has half until it ends at 80 ms; B (60 ms) has half
  // until then, the rest alone: 40 at 80, 60 at 100 ms.
  const two = [
    { at: 0, work: 40_000, cap: 1, weight: 64, quota: 0 },
    { at: 0, work: 60_000, cap: 1, weight: 64, quota: 0 },
  ];
  t.deepEqual(playOnCores(1, two).ends, [80_000, 100_000]);
  // Weights 3 : 1 until A ends: A runs at 3/4, 40 / .75 = 53.33 ms. B has a quarter of that, 13.33
  // ms, and ends at 53.33 + 46.67 = 100.
  const weighted = [{ ...two[0]!, weight: 192 }, two[1]!];
  const { ends } = playOnCores(1, weighted);
  t.is(ends[0], 53_334);
  t.true(Math.abs(ends[1]! - 100_000) <= 1);
  // Two cores, C can use but a quarter of one: a third of two is more, so it is satisfied. D and E
  // share the rest, 1.75 cores: .875 each.
  const capped = [
    { at: 0, work: 25_000, cap: 0.25, weight: 64, quota: 0 },
    { at: 0, work: 87_500, cap: 2, weight: 64, quota: 0 },
    { at: 0, work: 87_500, cap: 2, weight: 64, quota: 0 },
  ];
  t.deepEqual(playOnCores(2, capped).ends, [100_000, 100_000, 100_000]);
  // One core, F may use 20 ms a period: at half a core its bucket is empty at 40 ms; G then has
  // all. F's second 20 ms begin at 100 ms; G had 20 + 60 = 80 by then and needs 20 more: both at
  // half a core until 140 ms.
  const quota = [
    { at: 0, work: 40_000, cap: 1, weight: 64, quota: 20_000 },
    { at: 0, work: 100_000, cap: 1, weight: 64, quota: 0 },
  ];
  t.deepEqual(playOnCores(1, quota).ends, [140_000, 140_000]);
});

test('one whose share is just what it can use stays in its place', (t) => {
  // Weights 64 + 32 + 64 on one core: the level is 1/160, and .4 / 64 = 1/160 too. Whichever side
  // of the line the first is on, when one of weight 2 comes at 2 the level is 1/162, and it must
  // not keep its .4 cores.
  const job = (at: number, cap: number, weight: number) => ({
    at,
    work: 1000,
    cap,
    weight,
    quota: 0,
  });
  const rates: number[] = [];
  playOnCores(
    1,
    [job(1, 0.4, 64), job(0, 0.5, 32), job(0, 1, 64), job(2, 0.25, 2)],
    (running, now) => {
      if (now === 2)
        rates.push(...running.filter(({ job: { cap } }) => cap === 0.4).map(({ rate }) => rate));
    },
  );
  t.true(Math.abs(rates.at(-1)! - 64 / 162) < 1e-9, `${rates.at(-1)}`);
});

test('a bucket nearly empty binds, however small the share is', (t) => {
  // Two cores; A may use 150 ms a period on four cores: two alone (that is all there is) for 74 ms,
  // 148 ms used. Then B comes and each has one core: A's last 2 ms of this period are gone at 76
  // ms. It waits until 100 ms, and its last 50 ms at one core end at 150 ms. B has one core for 2
  // ms, all it can use (one core) throughout, and ends at 74 + 100.
  const a = { at: 0, work: 200_000, cap: 4, weight: 64, quota: 150_000 };
  const b = { at: 74_000, work: 100_000, cap: 1, weight: 64, quota: 0 };
  t.deepEqual(playOnCores(2, [a, b]).ends, [150_000, 174_000]);
});
