import test from 'ava';
import { type Bytes, MIB, type Millis, SeededRandom } from '../../../config/index.js';
import { createPolicy, Decider, MemoryHeadroom } from '../../../openwhisk-plugin/decision/index.js';
import { MemoryLoans } from '../../../openwhisk-plugin/decision/memory-loans.js';
import { decider, host, limits, Player, plain } from './helpers.js';

test('faasrm lends memory of the invokers’ user-memory only, if that is known', (t) => {
  const capacity = { ...host(8, 8192), allocatableMemory: (8192 * MIB) as Bytes };
  const headroom = new MemoryHeadroom(capacity.memory, 0 as Bytes, 0 as Bytes);
  const policies = { quota: createPolicy('smallest-in-range'), weight: createPolicy('memory') };
  const settings = { ...plain, memoryPolicy: 'faasrm' as const };
  const one = new Decider(settings, capacity, policies, new SeededRandom(1), headroom);
  const unknown = new Player(one, limits(256, 1));
  unknown.whole(1000, 0.2, 250);
  t.deepEqual([unknown.start().memory.granted, unknown.run.memory.choice], [256 * MIB, 'pool']);
  unknown.finish();
  headroom.seen('wsk0', limits(256));
  new Player(one, limits(256, 1));
  // 250 / .75 = 333.3 MiB; 2304 - 2 x 256 are free.
  t.is(unknown.start().memory.granted, Math.ceil((250 * MIB) / 0.75));
});

test('a memory loan follows a kill at the user limit, for the container’s life', (t) => {
  const one = decider({}, host(8, 4096, 2048));
  one.headroom.seen('wsk0', limits(256));
  one.headroom.update((600 * MIB) as Bytes, (500 * MIB) as Bytes);
  const player = new Player(one, limits(256));
  t.is(Number(one.memoryLoan(player.container, player.fn)), 0);
  one.oom(player.fn, (256 * MIB) as Bytes, 0 as Millis);
  const inside = player.start();
  t.is(Number(inside.memoryLimit), 256 * MIB);
  // The larger of 20 % and 100 MiB.
  t.is(Number(one.memoryLoan(player.container, player.fn)), 100 * MIB);
  t.is(Number(one.memoryLoan(player.container, player.fn)), 100 * MIB);
  t.is(Number(one.headroom.lent), 100 * MIB);
  t.deepEqual(
    [Number(inside.memoryLimit), inside.memory.choice],
    [356 * MIB, 'loan'],
    'the run in it has it at once',
  );
  player.finish();
  const run = player.start();
  t.deepEqual([Number(run.memoryLimit), run.memory.choice], [356 * MIB, 'loan']);
  for (let i = 0; i < 10; i++) one.oom(player.fn, (256 * MIB) as Bytes, 0 as Millis);
  t.is(Number(player.fn.memoryAfterOom), 356 * MIB, 'kills at one limit never add up');
  one.oom(player.fn, (356 * MIB) as Bytes, 0 as Millis);
  t.is(Number(player.fn.memoryAfterOom), 456 * MIB);
  one.containerEnded(player.container);
  t.is(Number(one.headroom.lent), 0);
});

test('a smaller action is lent the difference, and returns what it did not use', (t) => {
  const one = decider({}, host(8, 4096, 2048));
  one.headroom.seen('wsk0', limits(128));
  one.headroom.update((600 * MIB) as Bytes, (500 * MIB) as Bytes);
  const player = new Player(one, limits(128));
  t.is(Number(one.memoryLoan(player.container, player.fn)), 0);
  // Its user gave it 256 MiB.
  player.fn.rightSizeFactor = 2;
  const held = (): number[] =>
    [player.container.memoryLoan, one.headroom.lent].map((bytes) => bytes / MIB);
  const callWith = (peakMiB: number): boolean => {
    one.memoryLoan(player.container, player.fn);
    const run = player.start();
    t.deepEqual([Number(run.memoryLimit) / MIB, run.memory.choice], [256, 'loan']);
    player.sample(100, 0.1, peakMiB);
    player.finish();
    return one.takeBackLoan(run);
  };
  one.memoryLoan(player.container, player.fn);
  t.deepEqual(held(), [128, 32], 'a quarter counts until it is used');
  t.true(callWith(128));
  t.deepEqual(held(), [0, 0]);
  t.true(callWith(140));
  t.deepEqual(held(), [12, 12], 'what was used stays and counts in full');
  t.true(callWith(130));
  t.deepEqual(held(), [2, 2]);
  one.containerEnded(player.container);
  t.deepEqual(held(), [0, 0]);
});

test('under `guarantee` a memory limit is never below the user’s', (t) => {
  const player = new Player(decider({}, host(), 'target'), limits(256, 1));
  player.whole(1000, 0.2, 20);
  player.run.reset(player.fn, player.container);
  player.run.targetMemory = MIB as Bytes;
  player.decider.start(player.run, player.now as Millis);
  t.is(Number(player.run.memoryLimit), 256 * MIB);
  t.is(player.run.memory.reason, 'guarantee');
});

test('faasrm memory is restored at .8 of the lowered limit, or when the limit is met', (t) => {
  for (const [memory, hits, action] of [
    [107, 0, 'restore_memory'], // limit 133.4: .8 = 106.7
    [106, 0, 'none'],
    [60, 1, 'restore_memory'],
  ] as const) {
    const player = new Player(decider({ memoryPolicy: 'faasrm' }), limits(256, 1));
    player.whole(1000, 0.2, 100);
    player.start(player.now + 10);
    t.is(player.sample(100, 0.1, memory, 0, hits), action);
    t.is(player.run.memory.granted === 256 * MIB, action !== 'none');
  }
});

test('a container without a memory limit has none under Gleaner either', (t) => {
  const player = new Player(decider({ memoryPolicy: 'faasrm' }), limits(0, 1, 128));
  player.whole(1000, 0.2);
  const run = player.start();
  t.deepEqual([run.memory.reason, Number(run.memoryLimit)], ['unlimited', 0]);
});

test('a memory loan stays within the groups above the container, the rest in headroom', (t) => {
  const one = decider({}, host(8, 4096, 2048));
  one.headroom.seen('wsk0', limits(256));
  one.headroom.update((600 * MIB) as Bytes, (500 * MIB) as Bytes);
  const player = new Player(one, limits(256));
  one.oom(player.fn, (256 * MIB) as Bytes, 0 as Millis);
  const lend = (ceiling: number): number =>
    one.memoryLoan(player.container, player.fn, () => (ceiling * MIB) as Bytes) / MIB;
  // Wanted are 100 MiB; a group that promises too much already leaves less than the user's own
  // limit.
  t.is(lend(100), 0);
  t.is(lend(256), 0);
  t.is(lend(316), 60);
  t.is(one.headroom.lent / MIB, 60);
  t.is(lend(600), 100, 'the rest, once there is room');
  t.is(one.headroom.lent / MIB, 100);
});

test('limits of the groups above are not read while there is no memory to lend', (t) => {
  const one = decider({}, host(8, 4096, 2048));
  const player = new Player(one, limits(256));
  one.oom(player.fn, (256 * MIB) as Bytes, 0 as Millis);
  let asked = 0;
  const ceiling = (): Bytes => {
    asked++;
    return (1024 * MIB) as Bytes;
  };
  // What is in use is not known yet, so that nothing is free.
  t.is(Number(one.memoryLoan(player.container, player.fn, ceiling)), 0);
  t.is(asked, 0);
  one.headroom.seen('wsk0', limits(256));
  one.headroom.update((600 * MIB) as Bytes, (500 * MIB) as Bytes);
  t.is(Number(one.memoryLoan(player.container, player.fn, ceiling)), 100 * MIB);
  t.is(asked, 1);
});

test('a loan is bounded by the need, the cap, the free headroom and the groups above', (t) => {
  const lentWith = (headroomMiB: number, capMiB: number, ceilingMiB: number): number => {
    const headroom = new MemoryHeadroom((8192 * MIB) as Bytes, 0 as Bytes, 0 as Bytes);
    headroom.seen('wsk0', limits(256));
    // 128 of 1024 shares: below 9 x 256 MiB of user-memory. What remains of the host is headroom.
    headroom.update(((8192 - headroomMiB - 2304) * MIB) as Bytes, 0 as Bytes);
    const settings = { ...plain, memoryCap: (capMiB * MIB) as Bytes };
    const player = new Player(decider(), limits(256));
    player.fn.hitUserLimit = true;
    const loans = new MemoryLoans(headroom);
    const ceiling = () => ceilingMiB * MIB;
    return Number(loans.lend(player.container, player.fn, settings, ceiling)) / MIB;
  };
  // After a kill at 256 MiB the need is 356 MiB: a loan of 100 MiB.
  t.is(lentWith(1000, 10_000, 10_000), 100);
  t.is(lentWith(1000, 300, 10_000), 44, 'cap: 300 - 256');
  t.is(lentWith(1000, 10_000, 320), 64, 'groups above: 320 - 256');
  t.is(lentWith(48, 10_000, 10_000), 48, 'headroom');
  t.is(lentWith(1000, 10_000, 256), 0, 'groups above leave nothing');
  t.is(lentWith(0, 10_000, 10_000), 0, 'no headroom');
});

test('only `guarantee` lends memory, to a container with a limit and one activation', (t) => {
  const lent = (change: (player: Player) => void, user = limits(256)): number => {
    const headroom = new MemoryHeadroom((8192 * MIB) as Bytes, 0 as Bytes, 0 as Bytes);
    headroom.seen('wsk0', limits(256));
    headroom.update(0 as Bytes, 0 as Bytes);
    const player = new Player(decider(), user);
    player.fn.hitUserLimit = true;
    change(player);
    const loans = new MemoryLoans(headroom);
    return Number(loans.lend(player.container, player.fn, plain)) / MIB;
  };
  t.is(
    lent(() => undefined),
    100,
  );
  t.is(
    lent(({ fn }) => Object.assign(fn, { memoryPolicy: 'faasrm' })),
    0,
  );
  t.is(
    lent(({ fn }) => Object.assign(fn, { hitUserLimit: false })),
    0,
  );
  t.is(
    lent(({ container }) => Object.assign(container, { concurrent: true })),
    0,
  );
  t.is(
    lent(() => undefined, { ...limits(256), memory: 0 as Bytes }),
    0,
  );
  t.is(
    lent(({ container }) => Object.assign(container, { memoryLoan: 150 * MIB })),
    150,
    'enough',
  );
});

test('a loan grows by what is missing, within the groups above, and none is shown as none', (t) => {
  const headroom = new MemoryHeadroom((8192 * MIB) as Bytes, 0 as Bytes, 0 as Bytes);
  headroom.seen('wsk0', limits(256));
  headroom.update(0 as Bytes, 0 as Bytes);
  const player = new Player(decider(), limits(256));
  player.fn.hitUserLimit = true;
  const loans = new MemoryLoans(headroom);
  const run = player.start();
  Object.assign(run.memory, { choice: 'no_target' });
  const lend = (ceilingMiB: number): number =>
    Number(loans.lend(player.container, player.fn, plain, () => ceilingMiB * MIB)) / MIB;
  t.is(lend(256), 0);
  t.is(run.memory.choice, 'no_target', 'no loan, no change');
  t.is(lend(300), 44);
  t.is(run.memory.choice, 'loan');
  t.is(lend(320), 64, '320 - 256 - 44 more');
  t.is(Number(headroom.lent) / MIB, 64);
  t.is(lend(300), 64, 'nothing is taken back');
});

test('a loan found in a container counts, and its end gives all back', (t) => {
  const headroom = new MemoryHeadroom((8192 * MIB) as Bytes, 0 as Bytes, 0 as Bytes);
  const player = new Player(decider(), limits(256));
  const loans = new MemoryLoans(headroom);
  loans.found(player.container, (30 * MIB) as Bytes);
  loans.found(player.container, (20 * MIB) as Bytes);
  t.is(Number(player.container.memoryLoan) / MIB, 50);
  t.is(Number(headroom.lent) / MIB, 50);
  loans.end(player.container);
  t.deepEqual([Number(player.container.memoryLoan), Number(headroom.lent)], [0, 0]);
});

test('headroom is not lent in pieces below the unit, unless no more is asked for', (t) => {
  const headroom = new MemoryHeadroom((3304 * MIB) as Bytes, 0 as Bytes, 0 as Bytes);
  headroom.seen('wsk0', limits(256));
  // 2304 MiB of user-memory; 20 MiB are left of 1000.
  headroom.update((980 * MIB) as Bytes, 0 as Bytes);
  const lend = (demand: number, least: number): number =>
    Number(headroom.lend((demand * MIB) as Bytes, (least * MIB) as Bytes)) / MIB;
  t.is(lend(100, 21), 0);
  t.is(lend(8, 16), 8);
  t.is(lend(100, 12), 12, 'all that is left');
  t.is(lend(100, 0), 0);
  t.is(Number(headroom.free), 0);
  headroom.release((500 * MIB) as Bytes);
  t.is(Number(headroom.lent), 0, 'never below nothing');
});

test('an invoker that is gone, and shares that say nothing, do not count', (t) => {
  const headroom = new MemoryHeadroom((8192 * MIB) as Bytes, 0 as Bytes, 0 as Bytes);
  headroom.seen('wsk0', { ...limits(256), sharesUnset: true });
  headroom.seen('wsk0', { ...limits(256), memory: 0 as Bytes });
  headroom.seen('wsk0', limits(256, 0, 1025));
  t.is(headroom.userMemory, Number.NaN);
  headroom.seen('wsk0', limits(256));
  headroom.seen('wsk1', limits(256));
  t.is(headroom.userMemory, 2 * 2304 * MIB);
  headroom.forget('wsk1');
  t.is(headroom.userMemory, 2304 * MIB);
  // No integer division gives 600: floor(1024 / 1) = 1024 and floor(1024 / 2) = 512.
  headroom.seen('wsk2', limits(256, 0, 600));
  t.is(headroom.userMemory, Number.NaN);
});

test('under `guarantee` a function asks for what its OOM kills showed', (t) => {
  const player = new Player(decider(), limits(256, 1));
  t.is(player.start().memory.demand / MIB, 256);
  player.finish();
  player.decider.oom(player.fn, (256 * MIB) as Bytes, 0 as Millis);
  t.is(player.start(player.now + 10).memory.demand / MIB, 356);
});

test('memory kept free is counted per activation', (t) => {
  const player = new Player(decider({ memoryPolicy: 'faasrm' }), limits(256, 1));
  player.whole(1000, 0.2, 100);
  const run = player.start(player.now + 10);
  const kept = (256 * MIB - run.memory.granted) / MIB;
  player.sample(100, 0.2, 50);
  t.true(kept > 100);
  t.true(Math.abs(player.finish().harvestedMemory - kept * 100) < 1e-6);
});

test('limits of the groups above are not read for a container that has enough', (t) => {
  const one = decider({}, host(8, 4096, 2048));
  one.headroom.seen('wsk0', limits(256));
  one.headroom.update((600 * MIB) as Bytes, (500 * MIB) as Bytes);
  const player = new Player(one, limits(256));
  one.oom(player.fn, (256 * MIB) as Bytes, 0 as Millis);
  let asked = 0;
  const ceiling = (): Bytes => {
    asked++;
    return (1024 * MIB) as Bytes;
  };
  for (let i = 0; i < 3; i++) one.memoryLoan(player.container, player.fn, ceiling);
  t.is(asked, 1);
});
