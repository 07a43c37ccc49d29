import test from 'ava';
import type { Millis } from '../../../config/index.js';
import { decider, limits, Player } from './helpers.js';

const HOUR = 3_600_000;

/**
 * A function of 2 s beside an activation of one of 5 ms, both with 64 shares, under the whole
 * range. The reference of 500 ms puts the short one at 4096 and the long one at its floor.
 */
function beside(policy: string, control: number) {
  const one = decider({ referenceCpuTime: 500 as Millis }, undefined, undefined, policy);
  const short = new Player(one, limits(256, 0, 64), '/g/short');
  for (let i = 0; i < 5; i++) short.whole(5, 1);
  const long = new Player(one, limits(256, 0, 64), '/g/long');
  for (let i = 0; i < 10; i++) long.fn.addControl(control, long.now, HOUR);
  // Enough that others' first activations no longer count for it.
  for (let i = 0; i < 20; i++) long.fn.cpuTime.add(2000, long.now, HOUR);
  const { shares } = short.start();
  /** `count` managed runs of 2 s of CPU time in `duration` ms. */
  const run = (count: number, duration: number): number => {
    for (let i = 0; i < count; i++) {
      long.start(long.now + 10);
      long.sample(duration, 2000 / duration);
      long.finish();
    }
    const next = long.start().shares;
    long.finish('unknown');
    return next;
  };
  return { long, run, shares };
}

for (const policy of ['gittins', 'deadline-first']) {
  test(`${policy}: past the bound a long function keeps its own weight`, (t) => {
    const { run, shares, long } = beside(policy, 2000);
    t.is(shares, 64 * 4096);
    const { alpha } = long.fn;
    // 1.5 x its control arm, and the bound is 1.25.
    t.is(run(19, 3000), 64);
    t.is(long.fn.alpha, alpha, 'nineteen runs say nothing');
    t.is(run(21, 3000), 64);
    t.is(long.fn.alpha, alpha * 0.75 ** 2);
  });

  test(`${policy}: a long function that does not get slower has half of its weight`, (t) => {
    const { run } = beside(policy, 2000);
    t.is(run(19, 2000), 64);
    t.is(run(1, 2000), 32);
    t.is(run(40, 2000), 32);
    // Slower again: 40 runs say 1, so that about as many at 1.5 make more than the bound of 1.25.
    t.is(run(30, 3000), 32);
    t.is(run(15, 3000), 64);
  });
}

test('a large container reaches the end of the range that the kernel has', (t) => {
  const one = decider({ referenceCpuTime: 500 as Millis }, undefined, undefined, 'gittins');
  const short = new Player(one, limits(1024, 0, 512), '/g/short');
  for (let i = 0; i < 5; i++) short.whole(5, 1);
  // (500 / 5)^2, at most 4096, would be 2 million shares.
  t.is(short.start().shares, 262_144);
});

test('a smaller alpha never lowers the weight of a function above its own', (t) => {
  // 250 ms, half of the reference: (500 / 250)^2, although others stand at 4096.
  const { long, run } = beside('gittins', 2000);
  run(1, 2000);
  long.fn.alpha = 0;
  const expected = 4 * 64;
  long.fn.cpuByPayload.predict = () => 250;
  t.is(long.start().shares, expected);
  long.finish('unknown');
});

test('a function that runs alone, or above the others, is not held back by anyone', (t) => {
  const one = decider({ referenceCpuTime: 500 as Millis }, undefined, undefined, 'gittins');
  const player = new Player(one, limits(256, 0, 128));
  for (let i = 0; i < 10; i++) player.fn.addControl(1000, player.now, HOUR);
  for (let i = 0; i < 40; i++) {
    player.start(player.now + 10);
    player.sample(2000, 1);
    player.finish();
  }
  t.is(player.fn.minWeightFactor, 1 / 8);
});
