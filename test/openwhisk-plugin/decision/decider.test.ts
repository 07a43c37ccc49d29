import test from 'ava';
import {
  type Bytes,
  MIB,
  type Micros,
  type Millicores,
  type Millis,
} from '../../../config/index.js';
import {
  type ContainerState,
  type Decider,
  Run,
} from '../../../openwhisk-plugin/decision/index.js';
import { decider, host, limits, Player } from './helpers.js';

test('a first throttled period restores the user limit, and the next run keeps it', (t) => {
  const player = new Player(decider(), limits(256, 2));
  player.whole(1000, 0.3);
  const run = player.start(player.now + 10);
  t.is(run.cpu.granted, 400); // unit 100: 400 | 400
  t.is(player.sample(100, 0.1, 50, 1), 'restore_cpu');
  t.deepEqual([run.cpu.granted, Number(run.quota), run.cpu.choice], [2000, 2000, 'restored']);
  t.is(player.sample(100, 1.5), 'none');
  player.finish();
  t.is(player.fn.tripped, 1);
  t.is(player.start(player.now + 10).cpu.reason, 'spike');
  t.is(Number(player.run.quota), 2000);
  player.sample(100, 1.5);
  player.finish();
  // Measured at the user limit: 1.5 of 2 cores; 1.5 / .75 = 2.
  t.is(player.start(player.now + 10).cpu.reason, 'over_provisioned');
});

test('use at .8 of a lowered limit trips without throttling; use just below does not', (t) => {
  for (const [busy, action] of [
    [0.32, 'restore_cpu'],
    [0.3199, 'none'],
  ] as const) {
    const player = new Player(decider(), limits(256, 2));
    player.whole(1000, 0.3);
    player.start(player.now + 10);
    t.is(player.sample(100, busy), action);
  }
});

test('throttling at the user’s own limit is no spike, but shows that the limit is needed', (t) => {
  const player = new Player(decider(), limits(256, 1));
  player.start();
  player.sample(100, 0.5);
  t.is(player.sample(100, 0.5, 50, 3), 'none');
  player.finish();
  // A throttled period used the whole quota: peak 1 of 1 core.
  const run = player.start(player.now + 10);
  t.is(run.cpu.reason, 'under_provisioned');
  t.true(Math.abs(run.cpu.granted - 1000 / 0.75) < 1e-9);
});

test('30 throttled of 50 periods trip, whatever the mean', (t) => {
  const player = new Player(decider(), limits(256, 2));
  player.whole(1000, 0.3);
  player.start(player.now + 10);
  t.is(player.sample(5000, 0.16, 50, 30), 'restore_cpu');
});

test('a quota never cuts a short activation', (t) => {
  const player = new Player(decider(), limits(256, 2));
  // 60 CPU-ms in 400 ms: a peak of .6 core in one window of 100 ms would not be seen in longer
  // ones.
  for (let i = 0; i < 3; i++) {
    player.start(player.now + 10);
    player.sample(400, 0.15);
    player.finish();
  }
  // Lower bound: .15 + .1 = 250 millicores; but its 60 CPU-ms fit in one period of 100 ms: >= 600,
  // at most 5 % above (histogram).
  const run = player.start(player.now + 10);
  t.is(run.cpu.choice, 'short_run');
  t.true(run.cpu.granted >= 600 && run.cpu.granted <= 630);
});

test('harvested CPU is lent to a function that asks for more until the lender trips', (t) => {
  const one = decider({}, host(2));
  const lender = new Player(one, limits(256, 1), '/g/lender');
  const borrower = new Player(one, limits(256, 1), '/g/borrower');
  lender.whole(1000, 0.15);
  borrower.now = lender.now;
  borrower.whole(1000, 1.5);
  lender.start(borrower.now + 10);
  t.is(lender.run.cpu.granted, 200);
  const run = borrower.start(lender.now);
  t.is(run.cpu.reason, 'under_provisioned');
  t.true(Math.abs(run.cpu.demand - 1000 / 0.75) < 1e-9);
  t.true(run.cpu.borrowed > 333 && run.cpu.borrowed < 334);
  one.takeChanged(() => t.fail('nothing was taken back yet'));
  borrower.sample(100, 1.3);
  // 1.3 - 1 cores above the user limit for 100 ms: 30 CPU-ms, which would have taken 30 ms longer.
  t.true(Math.abs(run.accelerated - 30) < 1e-6);
  t.is(lender.sample(100, 0.2, 50, 1), 'restore_cpu');
  const revoked: ContainerState[] = [];
  one.takeChanged((container) => revoked.push(container));
  t.deepEqual(revoked, [borrower.container]);
  t.deepEqual([run.cpu.granted, Number(run.quota), run.cpu.choice], [1000, 1000, 'revoked']);
  // 100 ms at .8 core below its user limit.
  t.true(Math.abs(lender.finish().harvested - 80) < 1e-6);
  t.true(Math.abs(borrower.finish().saved - 30) < 1e-6);
});

/**
 * A host of two cores on which two that want more than their one core meet: `first` has taken what
 * the pool had.
 */
function twoBorrowers(settings: Parameters<typeof decider>[0] = {}): {
  one: Decider;
  first: Player;
  second: Player;
} {
  const one = decider(settings, host(3));
  const first = new Player(one, limits(256, 1), '/g/first');
  const second = new Player(one, limits(256, 1), '/g/second');
  for (const player of [first, second]) {
    player.now = Math.max(first.now, second.now);
    player.whole(1000, 1.5);
  }
  // 1 of 1 core, throttled: 1.333 wanted. Then 1.333 of 1.5: 1.777 wanted.
  first.now = second.now;
  first.whole(1000, 1.5);
  first.start(first.now + 10);
  second.now = first.now;
  return { one, first, second };
}

test('what becomes free is lent to a run that found the pool empty', (t) => {
  const { one, first, second } = twoBorrowers();
  // 3 - 1.777 - 1 = .222 of the .333 it wants above its core.
  const run = second.start(first.now);
  t.is(run.cpu.choice, 'pool');
  t.true(Math.abs(run.cpu.granted - (2000 - 1000 * (0.75 ** -2 - 1))) < 1e-6);
  one.takeChanged(() => t.fail('nothing is free'));
  first.sample(100, 1);
  first.finish();
  const told: unknown[] = [];
  one.takeChanged((container, why) => told.push(container, why));
  t.deepEqual(told, [second.container, 'lent_later']);
  t.true(Math.abs(run.cpu.granted - 1000 / 0.75) < 1e-6);
  t.deepEqual([Number(run.quota), run.cpu.choice], [run.cpu.granted, 'lent_later']);
  one.takeChanged(() => t.fail('told twice'));
});

test('what a throttled period proves is the lowest limit since the last reading', (t) => {
  const { one, first, second } = twoBorrowers();
  const run = second.start(first.now);
  const before = run.cpu.granted;
  second.sample(100, 1);
  first.finish();
  one.takeChanged(() => {});
  t.true(run.cpu.granted > before + 100);
  // It may have been throttled before the raise: the higher limit is not known to be needed.
  second.sample(100, 1, 50, 1);
  t.is(run.cpu.peak, before);
  second.sample(100, 1, 50, 1);
  t.is(run.cpu.peak, run.cpu.granted);
});

test('a throttled period that is counted late does not raise the next run’s demand', (t) => {
  const player = new Player(decider(), limits(256, 1));
  player.whole(1000, 1.5);
  // 1 of 1 core: 1.333 granted. The first reading still counts the last period of the run before.
  const run = player.start(player.now + 10);
  player.sample(100, 0.9, 50, 1);
  t.is(run.cpu.peak, 1000);
  player.sample(100, 1.2);
  t.is(Math.round(run.cpu.peak), 1200);
  player.sample(100, 1.2, 50, 1);
  t.is(run.cpu.peak, run.cpu.granted);
});

test('the control arm, unenforced runs and published presets get no later loans', (t) => {
  const none = (one: Decider, first: Player, second: Player): void => {
    const before = second.run.cpu.granted;
    first.finish();
    one.takeChanged(() => t.fail('lent later'));
    t.is(second.run.cpu.granted, before);
  };
  const control = twoBorrowers();
  control.one.settings = { ...control.one.settings, controlShare: 1 };
  t.true(control.second.start(control.first.now).control);
  none(control.one, control.first, control.second);

  const watched = twoBorrowers();
  watched.second.run.reset(watched.second.fn, watched.second.container);
  watched.second.run.enforced = false;
  watched.one.start(watched.second.run, watched.first.now as Millis);
  none(watched.one, watched.first, watched.second);

  // They act only between runs.
  const published = twoBorrowers();
  published.second.start(published.first.now);
  published.one.settings = { ...published.one.settings, midRun: false };
  none(published.one, published.first, published.second);
});

test('after an unenforced run joins, its container gets no later loans', (t) => {
  const { one, first, second } = twoBorrowers();
  second.start(first.now);
  const late = new Run(second.fn, second.container);
  late.enforced = false;
  one.start(late, first.now as Millis);
  t.is(second.run.cpu.granted, 1000);
  first.finish();
  one.takeChanged(() => t.fail('lent later'));
  t.is(second.container.cpu.granted, 1000);
});

test('in weight mode no limit is taken and nothing is called harvested', (t) => {
  const player = new Player(decider(), limits(256));
  for (let i = 0; i < 5; i++) player.whole(1000, 0.2);
  const run = player.start(player.now + 10);
  t.is(run.cpu.reason, 'weight');
  t.is(Number(run.quota), 0);
  t.is(Number(run.memoryLimit), 256 * MIB);
  const { harvested, accelerated, saved } = player.finish();
  t.deepEqual([harvested, accelerated, saved], [0, 0, 0]);
});

test('short-first orders functions by CPU time, on top of their own shares', (t) => {
  const one = decider();
  const short = new Player(one, limits(256), '/g/short');
  const long = new Player(one, limits(256), '/g/long');
  short.whole(400, 0.2); // 80 CPU-ms
  long.whole(250, 0.5); // 125 CPU-ms
  // Geometric mean by CPU time; the reference is 5 times that.
  const reference = 5 * Math.exp((80 * Math.log(80) + 125 * Math.log(125)) / (80 + 125));
  t.is(short.start().shares, Math.round((128 * reference) / 80));
  t.is(long.start().shares, Math.round((128 * reference) / 125));
  t.is(short.container.shares, 840);
});

test('beside functions that keep their own weights the reference is the plain mean', (t) => {
  const one = decider();
  const short = new Player(one, limits(256), '/g/short');
  const long = new Player(one, limits(256), '/g/long');
  short.whole(400, 0.2); // 80 CPU-ms
  long.whole(250, 0.5); // 125 CPU-ms
  one.weights.isAllowed = false;
  const reference = Math.exp((80 * Math.log(80) + 125 * Math.log(125)) / (80 + 125));
  t.is(short.start().shares, Math.round((128 * reference) / 80));
  t.is(long.start().shares, Math.round((128 * reference) / 125));
});

test('weights stay within 1/16 and 16 times the own shares, an agent’s factor within 2', (t) => {
  const one = decider({ referenceCpuTime: 100 as Millis });
  const tiny = new Player(one, limits(256), '/g/tiny');
  tiny.whole(100, 0.01);
  t.is(tiny.start().shares, 128 * 16);
  tiny.finish();
  tiny.run.targetCpu = (tiny.container.userCpu * 2) as Millicores;
  tiny.decider.start(tiny.run, tiny.now as Millis);
  t.is(tiny.run.shares, 128 * 32);
});

test('a right-sized action keeps its user’s weight, in the control arm too', (t) => {
  // 512 MiB of 2048 had 256 shares; at 192 they are 96.
  const player = new Player(decider({ controlShare: 0 }), limits(192));
  player.fn.rightSizeFactor = 512 / 192;
  t.is(player.start().shares, 256);
  t.is(player.fn.weightFactor, 1);
  player.finish();
  const control = new Player(decider({ controlShare: 1 }), limits(192), '/guest/g');
  control.fn.rightSizeFactor = 512 / 192;
  t.is(control.start().shares, 256);
});

test('a weight is not changed by less than 5 %, so that limits do not flap', (t) => {
  const player = new Player(decider({ referenceCpuTime: 100 as Millis }), limits(1024, 0, 512));
  const seen = new Set<number>();
  for (let i = 0; i < 100; i++) {
    // 50 CPU-ms, give or take 4 %: a factor of 2, that the mean keeps within 5 %.
    const run = player.whole(500, i % 2 ? 0.104 : 0.096);
    if (i > 0) seen.add(run.shares);
  }
  t.is(seen.size, 1);
});

test('settings can change while runs are in flight', (t) => {
  const one = decider({}, host(2));
  const borrower = new Player(one, limits(256, 1));
  borrower.whole(1000, 2);
  t.true(borrower.start(borrower.now + 10).cpu.granted > 1300);
  one.settings = { ...one.settings, cpuReserve: 1000 as Millicores };
  one.takeChanged(() => {});
  t.is(borrower.run.cpu.granted, 1000);
  t.is(one.cpuPool.loans, 0);
});

test('the user’s CPU: configuration, else quota, else the guarantee of the shares', (t) => {
  const one = decider({}, host(8));
  t.is(Number(one.container(limits(256, 0.5)).userCpu), 500);
  const shares = one.container(limits(256));
  t.is(Number(shares.userCpu), 1000); // 8 cores x 128 / 1024
  t.is(shares.mode, 'weight');
  const fn = one.functionState('/g/f', '1', limits(256), 0 as Millis);
  fn.configuredCpu = 1500;
  shares.assignFunction(fn, host(8));
  t.deepEqual([Number(shares.userCpu), shares.mode], [1500, 'quota']);
});

for (const requested of [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -0,
  0,
  -5,
]) {
  test(`a target of ${Object.is(requested, -0) ? '-0' : requested} means user limits`, (t) => {
    const player = new Player(
      decider({ memoryPolicy: 'faasrm' }, host(), 'target', 'memory'),
      limits(256, 1),
    );
    player.whole(1000, 0.2);
    player.run.reset(player.fn, player.container);
    player.run.targetCpu = requested as Millicores;
    player.run.targetMemory = requested as Bytes;
    player.decider.start(player.run, player.now as Millis);
    t.deepEqual([player.run.cpu.granted, player.run.cpu.choice], [1000, 'no_target']);
    t.deepEqual([player.run.memory.granted, player.run.memory.choice], [256 * MIB, 'no_target']);
    t.is(player.run.shares, 128);
  });
}

test('a target is clipped to the range; the demand keeps it, at least the lower bound', (t) => {
  const player = new Player(decider({}, host(), 'target'), limits(256, 1));
  player.whole(1000, 0.3);
  player.run.reset(player.fn, player.container);
  player.run.targetCpu = 10 as Millicores;
  player.decider.start(player.run, player.now as Millis);
  t.deepEqual(
    [player.run.cpu.demand, player.run.cpu.granted, player.run.cpu.choice],
    [400, 400, 'clipped'],
  );
  // And the first-ever target of 3 cores is held to the user's, since a function that is not known
  // stays there.
  const other = new Player(player.decider, limits(256, 1), '/g/new');
  other.run.targetCpu = 3000 as Millicores;
  other.decider.start(other.run, 0 as Millis);
  t.deepEqual(
    [other.run.cpu.demand, other.run.cpu.granted, other.run.cpu.choice],
    [3000, 1000, 'user'],
  );
});

test('with several activations in a container CPU rises at once and falls in steps', (t) => {
  const one = decider();
  const player = new Player(one, limits(256, 1));
  player.whole(1000, 0.2);
  player.start(player.now + 10);
  t.true(Math.abs(player.run.cpu.granted - 200 / 0.75) < 1e-9);
  const second = new Run(player.fn, player.container);
  player.fn.cpuSpiked = true;
  one.start(second, player.now as Millis);
  // The container's limit: both runs have the user's.
  t.deepEqual([second.cpu.granted, player.run.cpu.granted], [1000, 1000]);
  t.is(second.concurrency, 2);
  t.true(player.container.concurrent);
  player.fn.cpuSpiked = false;
  one.finish(player.run, 'success', 10, true, player.now as Millis);
  player.run.reset(player.fn, player.container);
  one.start(player.run, player.now as Millis);
  // The other one was promised the user limit: it stays.
  t.is(player.run.cpu.granted, 1000);
  one.finish(second, 'success', 10, true, player.now as Millis);
  second.reset(player.fn, player.container);
  one.start(second, player.now as Millis);
  t.is(second.cpu.granted, 900);
  t.is(second.cpu.choice, 'step');
});

test('a cold start gets sixteen times the weight and the whole host, until its first run', (t) => {
  const one = decider({}, host(4), undefined, 'target');
  const player = new Player(one, limits(256, 1));
  t.is(Number(one.shares.beginBoost(player.container, 5 as Millis)), 4000);
  t.is(player.container.shares, 2048);
  t.is(player.container.boostUntil, 10_005);
  player.start();
  t.deepEqual([player.container.shares, player.container.boostUntil], [128, 0]);
  t.is(Number(one.shares.beginBoost(one.container(limits(128)), 0 as Millis)), 0);
});

for (const policy of ['gittins', 'deadline-first', 'short-first', 'sfs', 'alps'])
  test(`a cold start beside activations that ${policy} orders gets the whole range`, (t) => {
    const one = decider({}, host(4), undefined, policy);
    const boosted = (): number => {
      const container = one.container(limits(256, 1));
      one.shares.beginBoost(container, 5 as Millis);
      const { shares } = container;
      one.shares.endBoost(container);
      return shares;
    };
    // 4096 x 128 is above the kernel's greatest weight.
    t.is(boosted(), 262_144);
    one.weights.isAllowed = false;
    t.is(boosted(), 2048, 'beside what is not managed');
  });

test('of a burst of cold starts each has at least the typical weight, also after its time', (t) => {
  const one = decider({}, host(4), undefined, 'gittins');
  // One activation far above three others: the geometric mean of 4096, 1, 1 and 1 is 8.
  const factors = [4096, 1, 1, 1];
  for (const factor of factors) {
    const player = new Player(one, limits(256));
    player.start();
    player.container.shares = factor * player.container.user.shares;
    one.weights.update(player.container);
  }
  const burst = Array.from({ length: 24 }, () => {
    const container = one.container(limits(256));
    one.shares.beginBoost(container, 5 as Millis);
    return container;
  });
  // The 20th gets 4096 / 400 = 10.2, the 24th 4096 / 576 = 7.1.
  t.is(burst[19]?.shares, Math.round((128 * 4096) / 400));
  t.is(burst[23]?.shares, 8 * 128);
  one.shares.expireBoost(burst[0] as ContainerState, 10_005 as Millis);
  t.is(burst[0]?.shares, 8 * 128);
});

test('a refused write leaves the user limit, in the run and in the pool', (t) => {
  const player = new Player(decider(), limits(256, 1));
  player.whole(1000, 0.2);
  player.start(player.now + 10);
  player.decider.refused(player.run, 'cpu', player.now as Millis);
  t.is(player.run.cpu.granted, 1000);
  t.is(player.decider.cpuPool.granted, 1000);
  t.false(player.fn.cpuSpiked);
});

test('runs that are only watched take nothing and count for nothing', (t) => {
  const player = new Player(decider(), limits(256, 1));
  player.whole(1000, 0.2);
  player.run.reset(player.fn, player.container);
  player.run.enforced = false;
  player.decider.start(player.run, player.now as Millis);
  t.true(player.run.cpu.granted < 300);
  t.is(player.decider.cpuPool.granted, 1000);
  t.is(player.sample(100, 0.9, 50, 5), 'none');
  player.finish();
  t.is(player.run.harvested, 0);
});

test('time paused is not run time', (t) => {
  const player = new Player(decider(), limits(256, 1));
  player.start();
  player.now += 60_000;
  const frozen = player.usage(50);
  frozen.frozen = true;
  player.decider.sample(player.run, frozen, player.now as Millis);
  player.sample(100, 0.4);
  t.true(Math.abs(player.run.cpu.peak - 400) < 1e-6);
});

test('an action with other limits has a history of its own, which outlives containers', (t) => {
  const one = decider();
  for (let i = 0; i < 50; i++) {
    const player = new Player(one, limits(256, 1));
    player.whole(200, 0.2);
    one.containerEnded(player.container);
  }
  const fn = one.functionState('/guest/f', '0.0.1', limits(256, 1), 0 as Millis);
  t.is(fn.cpuPeak.count, 50);
  t.is(one.functionState('/guest/f', '0.0.1', limits(512, 1), 0 as Millis).clean, 0);
  t.is(one.functionState('/guest/f', '0.0.2', limits(256, 1), 0 as Millis).clean, 0);
});

test('finishing twice changes nothing', (t) => {
  const player = new Player(decider(), limits(256, 1));
  player.start();
  player.finish();
  player.finish();
  t.is(player.fn.clean, 1);
  t.is(player.container.running, 0);
});

test('an unreadable counter gives no CPU time', (t) => {
  const player = new Player(decider(), limits(256));
  player.start();
  player.run.startCpu = -1 as Micros;
  player.finish();
  t.is(player.fn.cpuTime.count, 0);
});

test('what is used after an answer counts for the next run, but for what runtimes need', (t) => {
  const player = new Player(decider(), limits(256));
  const expected: number[] = [];
  // CPU-ms: 20 are free, so that the sums are 10, 10 and 10 + 90.
  for (const late of [0, 20_000, 90_000]) {
    player.start();
    player.run.lateCpu = late as Micros;
    player.sample(10, 1);
    player.finish();
    expected.push(player.fn.expectedCpu.mean);
  }
  // The mean of 10, 10 and 100 is 40; the half-life of hours moves it by less than .1.
  [10, 10, 40].forEach((mean, index) => {
    t.true(Math.abs(expected[index]! - mean) < 0.1, String(expected));
  });
});
