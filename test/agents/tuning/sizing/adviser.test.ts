import test from 'ava';
import { RIGHT_SIZE_DEFAULT, rightSizeManager } from '../../../../agents/managers/right-size.js';
import { SizeAdviser } from '../../../../agents/tuning/index.js';
import {
  type Bytes,
  type Micros,
  type Millicores,
  type Millis,
  mebibytes,
} from '../../../../config/index.js';
import { amounts, observation } from '../../../support/observations.js';
import { play } from '../../managers/play.js';

const MINUTE = 60_000;
const user = (mib: number, shares = 256) => ({
  cpu: 1000 as Millicores,
  memory: mebibytes(mib),
  shares,
});
const at = (minutes: number): Millis => (minutes * MINUTE) as Millis;

test('advice is the smallest size above the peak and its margin, with what it rests on', (t) => {
  const adviser = new SizeAdviser(10);
  // 20 activations each, peaks of 100 and 300 MiB, of 100 ms (test/support/observations.ts).
  adviser.observe(observation({ user: user(512), peak: amounts(500, 300), coldStarts: 2 }), at(0));
  adviser.observe(
    observation({ step: 2, user: user(512), peak: amounts(500, 100), host: 'invoker-2' }),
    at(10),
  );
  const [advice] = adviser.advice(at(10));
  t.like(advice, {
    function: '/guest/hello',
    limit: mebibytes(512),
    highest: mebibytes(300),
    // 300 + 25 % = 375: the next of 128, 192, 256, 320, 384.
    size: mebibytes(384),
    activations: 40,
    activationsAtLimit: 40,
    seen: at(10),
    rate: 40 / 600,
    coldStarts: 2,
    // Two on each host.
    containers: 4,
    kills: 0,
    killedAt: null,
  });
  t.true(Math.abs(advice!.busy - 100) < 10);
});

test('a peak counts in full for eight steps and then halves in a day', (t) => {
  const adviser = new SizeAdviser(10);
  adviser.observe(observation({ user: user(512), peak: amounts(500, 300) }), at(0));
  for (let step = 2; step <= 8; step++)
    adviser.observe(observation({ step, user: user(512), peak: amounts(500, 100) }), at(0));
  t.is(adviser.advice(at(720))[0]!.recent, mebibytes(300));
  adviser.observe(observation({ step: 9, user: user(512), peak: amounts(500, 100) }), at(720));
  // Half-life of a day: 300 x 2^-.5.
  t.true(Math.abs(adviser.advice(at(720))[0]!.recent / mebibytes(300) - 2 ** -0.5) < 1e-9);
});

test('cold starts soon after an activation are evictions, which halve in five minutes', (t) => {
  const adviser = new SizeAdviser(10);
  const rate = (minutes: number): number => adviser.advice(at(minutes))[0]!.evictionRate;
  adviser.observe(observation({ user: user(512), coldStarts: 2 }), at(0));
  t.is(rate(0), 0, 'the first ones had no container before');
  adviser.observe(observation({ step: 2, user: user(512), coldStarts: 3 }), at(5));
  // Three in the half-life of 300 s: 3 ln 2 / 300.
  t.true(Math.abs(rate(5) - (3 * Math.LN2) / 300) < 1e-12);
  t.true(Math.abs(rate(10) - (1.5 * Math.LN2) / 300) < 1e-12);
  adviser.observe(observation({ step: 3, user: user(512), coldStarts: 3 }), at(20));
  t.true(rate(20) < 0.001, 'idle for ten minutes');
});

test('peaks of all functions together show how far the next one exceeds those before', (t) => {
  const adviser = new SizeAdviser(10);
  const step = (fn: string, number: number, mib: number): void =>
    adviser.observe(
      observation({ function: fn, step: number, user: user(512), peak: amounts(500, mib) }),
      at(number),
    );
  // 20 activations a step: the second step of each has 20 before it, the third 40.
  step('/guest/a', 1, 100);
  step('/guest/b', 1, 100);
  step('/guest/a', 2, 90);
  step('/guest/b', 2, 150);
  t.is(adviser.peaks.activations[4], 40);
  t.is(
    adviser.peaks.exceeded.reduce((sum, count) => sum + count, 0),
    1,
  );
});

test('activations at the limit count per limit; evidence of memory continues', (t) => {
  const adviser = new SizeAdviser(10);
  adviser.observe(observation({ user: user(512) }), at(0));
  adviser.observe(observation({ step: 2, user: user(192) }), at(1));
  t.like(adviser.advice(at(1))[0], {
    limit: mebibytes(192),
    activations: 40,
    activationsAtLimit: 20,
    highest: mebibytes(128),
  });
});

test('an OOM kill is a sample above the limit, and it is reported', (t) => {
  const adviser = new SizeAdviser(10);
  adviser.observe(observation({ user: user(512), peak: amounts(500, 100) }), at(0));
  adviser.observe(
    observation({ step: 2, user: user(192), oomKills: 1, peak: amounts(500, 0) }),
    at(0),
  );
  // Below the user's size: that one.
  t.like(adviser.advice(at(0))[0], { kills: 1, killedAt: mebibytes(192), size: mebibytes(512) });
});

test('advice and manager right-size differ by the half-life of peaks alone', (t) => {
  /** MiB that both ask for, after peaks in MiB at minutes. */
  const sizes = (limit: number, peaks: readonly (readonly [number, number])[]): number[] => {
    const steps = peaks.map(([mib, minutes], i) => ({
      step: i + 1,
      user: user(limit),
      peak: amounts(500, mib),
      activations: 100,
      now: at(minutes),
    }));
    const adviser = new SizeAdviser(10);
    for (const { now, ...step } of steps) adviser.observe(observation(step), now);
    const { decisions } = play(rightSizeManager(RIGHT_SIZE_DEFAULT), steps);
    const { size } = adviser.advice(steps.at(-1)!.now)[0]!;
    return [size, decisions.at(-1)!.nominalMemory!].map((bytes) => bytes / mebibytes(1));
  };
  // 250 + 62.5 is more than the user asked for, and so is 120 + 32: no margin above that.
  t.deepEqual(sizes(256, [[250, 0]]), [256, 256]);
  t.deepEqual(sizes(128, [[120, 0]]), [128, 128]);
  // 400 five hours ago: 400 x 2^(-5/24) = 346.2, and a quarter 432.8: 448. Half-life of an hour:
  // 12.5, so that 100 + 32 counts: 192.
  const later = Array.from({ length: 8 }, () => [100, 300] as const);
  t.deepEqual(sizes(512, [[400, 0], ...later]), [448, 192]);
});

test('the user’s size is known from the action’s settings, not only from limits', (t) => {
  const adviser = new SizeAdviser(10);
  const step = observation({ user: user(192), peak: amounts(500, 180) });
  adviser.observe(step, at(0), mebibytes(512));
  // 180 + 45 = 225: 256. Of a user with 192 it would be 192.
  t.is(adviser.advice(at(0))[0]!.size, mebibytes(256));
});

test('a kill in a step in which the limit was given back is blamed on the smaller one', (t) => {
  const adviser = new SizeAdviser(10);
  adviser.observe(observation({ user: user(192) }), at(0));
  adviser.observe(observation({ step: 2, user: user(512), oomKills: 1 }), at(1));
  t.is(adviser.advice(at(1))[0]!.killedAt, mebibytes(192));
  adviser.observe(observation({ step: 3, user: user(512), oomKills: 1 }), at(2));
  t.is(adviser.advice(at(2))[0]!.killedAt, mebibytes(512));
});

test('the user-memory of a host is the least that all shares of its containers show', (t) => {
  const adviser = new SizeAdviser(10);
  // 300 MiB fit six times, 1024 / 6 = 170: [1800, 2100) MiB. 256: 8, 128: [2048, 2304).
  // 100: 20, 51: [2000, 2100).
  for (const [i, [mib, shares]] of (
    [
      [300, 170],
      [256, 128],
      [100, 51],
    ] as const
  ).entries())
    adviser.observe(observation({ function: `/guest/f${i}`, user: user(mib, shares) }), at(0));
  // OpenWhisk's least of 2 on a large host, the default of an engine, and a pod's request of a core
  // show nothing, and OpenWhisk gives a container a half or all, and not 600 of 1024.
  for (const [i, shown] of [
    user(128, 2),
    { ...user(256, 1024), sharesFollowMemory: false },
    user(256, 600),
  ].entries())
    adviser.observe(observation({ host: `invoker-${2 + i}`, user: shown }), at(0));
  t.deepEqual(adviser.hosts(at(0)), [{ host: 'invoker-1', userMemory: mebibytes(2048) }]);
});

test('a host that restarts with other user-memory, or leaves, is not remembered', (t) => {
  const adviser = new SizeAdviser(10);
  const memory = (minutes: number) => adviser.hosts(at(minutes)).map((host) => host.userMemory);
  // 2048 / 256 = 8, 1024 / 8 = 128; 8192 / 256 = 32, 1024 / 32 = 32.
  adviser.observe(observation({ user: user(256, 128) }), at(0));
  t.deepEqual(memory(0), [mebibytes(2048)]);
  adviser.observe(observation({ user: user(256, 32), step: 2 }), at(1));
  t.deepEqual(memory(1), [mebibytes(8192)]);
  adviser.observe(observation({ user: user(256, 128), step: 3 }), at(2));
  t.deepEqual(memory(2), [mebibytes(2048)]);
  t.deepEqual(memory(12), [mebibytes(2048)]);
  t.deepEqual(memory(13), []);
});

test('containers expire after ten minutes; functions are bounded; nonsense is ignored', (t) => {
  const adviser = new SizeAdviser(2);
  adviser.observe(observation({}), at(0));
  t.is(adviser.advice(at(10))[0]!.containers, 2);
  t.is(adviser.advice(at(11))[0]!.containers, 0);
  adviser.observe(
    observation({
      function: '/guest/nan',
      peak: { cpu: 1 as Millicores, memory: Number.NaN as Bytes },
    }),
    at(0),
  );
  t.is(adviser.functions, 1);
  for (const name of ['a', 'b', 'c'])
    adviser.observe(observation({ function: `/guest/${name}` }), at(1));
  t.deepEqual(
    adviser.advice(at(1), 1, 1).map(({ function: fn }) => fn),
    ['/guest/b'],
  );
  t.is(adviser.functions, 2);
});

const WALL = 1_700_000_000_000_000 as Micros;

test('stored evidence continues elsewhere: sums unchanged, peaks older by the gap', (t) => {
  const before = new SizeAdviser(10);
  before.observe(observation({ user: user(512), peak: amounts(500, 300), coldStarts: 2 }), at(100));
  before.observe(observation({ step: 2, user: user(512), peak: amounts(500, 100) }), at(110));
  const record = JSON.parse(JSON.stringify(before.saveState('/guest/hello', at(110), WALL)));
  // Another machine, up for a minute; half a day by the wall clock.
  const after = new SizeAdviser(10);
  t.true(after.loadState('/guest/hello', record, at(1), (WALL + 720 * MINUTE * 1000) as Micros));
  const [advice] = after.advice(at(1));
  t.like(advice, {
    limit: mebibytes(512),
    highest: mebibytes(300),
    activations: 40,
    activationsAtLimit: 40,
    coldStarts: 2,
  });
  t.is(advice!.seen, at(10 + 720));
  t.true(Math.abs(advice!.recent / mebibytes(300) - 2 ** -0.5) < 1e-9);
  after.observe(observation({ step: 1, user: user(512) }), at(2));
  t.is(after.advice(at(2))[0]!.activations, 60);
});

test('a record of an earlier release, which names activations calls, is read', (t) => {
  const before = new SizeAdviser(10);
  before.observe(observation({ user: user(512) }), at(0));
  const { activations, activationsAtLimit, ...others } = before.saveState(
    '/guest/hello',
    at(0),
    WALL,
  )!;
  const old = { ...others, calls: activations, callsAtLimit: activationsAtLimit };
  const after = new SizeAdviser(10);
  t.true(after.loadState('/guest/hello', old, at(0), WALL));
  t.deepEqual(after.advice(at(0))[0]!.activations, 20);
});

test('a record that cannot be one is refused, and none replaces what was seen here', (t) => {
  const before = new SizeAdviser(10);
  t.is(before.saveState('/guest/hello', at(0), WALL), null);
  before.observe(observation({ user: user(512) }), at(0));
  const record = before.saveState('/guest/hello', at(0), WALL)!;
  for (const damaged of [
    null,
    {},
    { ...record, activations: -1 },
    { ...record, recent: 'much' },
    { ...record, seen: Number.NaN },
  ]) {
    const after = new SizeAdviser(10);
    t.false(after.loadState('/guest/hello', damaged, at(0), WALL));
    t.is(after.functions, 0);
  }
  t.false(before.loadState('/guest/hello', { ...record, activations: 7 }, at(0), WALL));
  t.is(before.advice(at(0))[0]!.activations, 20);
});

test('a record of a clock that is ahead is not of the future', (t) => {
  const before = new SizeAdviser(10);
  before.observe(observation({ user: user(512), peak: amounts(500, 300) }), at(0));
  const record = before.saveState('/guest/hello', at(5), WALL)!;
  const after = new SizeAdviser(10);
  t.true(after.loadState('/guest/hello', record, at(0), (WALL - 1e12) as Micros));
  t.is(after.advice(at(0))[0]!.seen, at(5));
  t.true(after.advice(at(0))[0]!.recent <= mebibytes(300));
});

test('containers count on all hosts that reported in the last ten minutes', (t) => {
  const adviser = new SizeAdviser(10);
  const see = (host: number, minute: number): void =>
    adviser.observe(observation({ user: user(512), host: `invoker-${host}` }), at(minute));
  for (let host = 1; host <= 70; host++) see(host, 0);
  // Two containers on each.
  t.is(adviser.advice(at(0))[0]!.containers, 140);
  see(7, 11);
  t.is(adviser.advice(at(11))[0]!.containers, 2);
});
