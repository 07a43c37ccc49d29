import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import type { Millicores, Millis } from '../../../config/index.js';
import { Boosts } from '../../../openwhisk-plugin/decision/boosts.js';
import { ContainerState } from '../../../openwhisk-plugin/decision/index.js';
import { host, limits, plain } from './helpers.js';

const boosts = (cores = 8): Boosts => new Boosts((1000 * cores) as Millicores);
const container = (memory = 256, quota = 0): ContainerState =>
  new ContainerState(limits(memory, quota), host());
const at = (ms: number): Millis => ms as Millis;

test('containers that start together: the n-th gets 16 / n times its weight', (t) => {
  const all = boosts();
  const shares = Array.from({ length: 5 }, () => {
    const one = container(256);
    all.begin(one, plain, at(0));
    return one.shares;
  });
  // 128 shares of its own: 128 x 16 / n.
  t.deepEqual(shares, [2048, 1024, 683, 512, 410]);
});

test('in a wider range the n-th gets 1 / n^2 of it, until 16 / n is more', (t) => {
  const all = boosts();
  const shares = Array.from({ length: 5 }, () => {
    const one = container(256);
    all.begin(one, plain, at(0), 1, 0, 64);
    return one.shares;
  });
  // 128 x 64 / n^2 is 8192, 2048, 910.2, 512, 327.7; 128 x 16 / n is 2048, 1024, 682.7, 512, 409.6.
  t.deepEqual(shares, [8192, 2048, 910, 512, 410]);
});

test('a start after the others have ended gets all of it', (t) => {
  const all = boosts();
  const [one, two, three] = [container(), container(), container()];
  all.begin(one, plain, at(0));
  all.begin(two, plain, at(1));
  all.end(one);
  all.end(two);
  t.deepEqual([one.shares, one.boostUntil], [128, 0]);
  all.begin(three, plain, at(2));
  t.is(three.shares, 2048);
});

test('one that was boosted for ten seconds and never heard of again does not count', (t) => {
  const all = boosts();
  all.begin(container(), plain, at(0));
  t.is(all.starting(at(9999)), 1);
  t.is(all.starting(at(10_000)), 0);
  const late = container();
  all.begin(late, plain, at(10_000));
  t.is(late.shares, 2048);
});

test('when its time is over it has other shares until it ends, and others no longer share', (t) => {
  const all = boosts();
  const slow = container();
  all.begin(slow, plain, at(0));
  all.expire(slow, plain, at(10_000), 640);
  t.deepEqual([slow.shares, slow.boostUntil], [640, 20_000]);
  const next = container();
  all.begin(next, plain, at(10_001));
  t.is(next.shares, 2048);
  all.end(slow);
  t.deepEqual([slow.shares, slow.boostUntil], [128, 0]);
});

test('a boost is at least the weight that is asked for', (t) => {
  const all = boosts();
  const [first, second] = [container(), container()];
  // 16 times 128, and half of it beside another start.
  all.begin(first, plain, at(0), 1, 1280);
  all.begin(second, plain, at(0), 1, 1280);
  t.deepEqual([first.shares, second.shares], [2048, 1280]);
});

test('the end of a container without a boost leaves the boosts of others', (t) => {
  const all = boosts();
  all.begin(container(), plain, at(0));
  all.end(container());
  t.is(all.starting(at(1)), 1);
});

test('a container that is boosted again counts once', (t) => {
  const all = boosts();
  const one = container();
  all.begin(one, plain, at(0));
  all.begin(one, plain, at(1));
  t.is(all.starting(at(2)), 1);
  t.is(one.shares, 2048);
});

test('the quota is the host, however many start; without a quota there is none to raise', (t) => {
  const all = boosts(4);
  for (let i = 0; i < 40; i++) t.is(Number(all.begin(container(256, 1), plain, at(0))), 4000);
  t.is(Number(all.begin(container(256), plain, at(0))), 0);
});

testProp(
  'in any order of starts and ends a boost is between 1 and 16 times the own weight',
  [
    fc.array(fc.tuple(fc.boolean(), fc.nat(30), fc.integer({ min: 0, max: 3000 })), {
      minLength: 1,
      maxLength: 80,
    }),
  ],
  (t, steps) => {
    const all = boosts();
    const alive: { one: ContainerState; until: number }[] = [];
    let now = 0;
    for (const [ends, which, wait] of steps) {
      now += wait;
      if (ends && alive.length > 0) {
        const [gone] = alive.splice(which % alive.length, 1);
        all.end(gone!.one);
        t.is(gone!.one.shares, gone!.one.user.shares);
        continue;
      }
      const one = container(128 * (1 + (which % 4)));
      // The reference counts by hand: those that began less than ten seconds ago and have not
      // ended.
      const others = alive.filter(({ until }) => until > now).length;
      all.begin(one, plain, at(now));
      alive.push({ one, until: now + 10_000 });
      const own = one.user.shares;
      t.true(one.shares >= own && one.shares <= 16 * own);
      t.is(one.shares, Math.max(own, Math.round((16 * own) / (others + 1))));
      t.is(all.starting(at(now)), others + 1);
    }
  },
);
