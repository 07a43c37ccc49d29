import test from 'ava';
import { millis } from '../../../config/index.js';
import { emptySample } from '../../../openwhisk-plugin/decision/index.js';
import { ClusterOutcome, StartKind } from '../../../simulator/engine/index.js';
import { cores, fn, mib, type Scene, scene } from './scene.js';

const coldStarts = (s: Scene): number =>
  s.ended.filter(({ start }) => start === StartKind.cold).length;

test('a cold start is container, then init, then run; the next call finds it warm', async (t) => {
  // 500 ms to make the container + 100 ms of init on one core + 80 ms of run = 680. The warm one:
  // 80.
  const s = await scene([fn('a', [0, 2000], 80, { profile: { coldStartMs: 500, initMs: 100 } })]);
  s.runToEnd();
  t.is(s.response(0), 680);
  t.is(s.execution(0), 80);
  t.is(s.response(1), 80);
  t.deepEqual(
    s.ended.map(({ start }) => start),
    [StartKind.cold, StartKind.warm],
  );
});

test('half a core makes 80 ms of work last 130 ms', async (t) => {
  // The period began with the container. A fluid quota would say 160.
  const s = await scene([fn('a', [0], 80, { userCpuMillicores: 500 })]);
  s.runToEnd();
  t.is(s.response(0), 130);
});

test('work that fits into one period is not cut by a quota', async (t) => {
  // Warm activation at 1000 ms, a boundary (container at 0): 40 ms of work against a bucket of 50.
  const s = await scene([fn('a', [0, 1000], 40, { userCpuMillicores: 500 })]);
  s.runToEnd();
  t.is(s.response(1), 40);
});

test('an activation in the middle of a period finds its bucket full', async (t) => {
  // At 1070: 30 ms until the boundary at 1100, all of them run (30 of 50 used); then a new bucket:
  // 50 ms to 1150. 80 in all.
  const s = await scene([fn('a', [0, 1070], 80, { userCpuMillicores: 500 })]);
  s.runToEnd();
  t.is(s.response(1), 80);
});

test('two containers with weights 2:1 share a core 2:1 until one has done', async (t) => {
  // Shares 1024 x 256 / 2048 = 128 and 64. 90 ms each: the first at 2/3 takes 135; the second has
  // done 45 and does 45 alone: 180.
  const s = await scene([fn('a', [0], 90), fn('b', [0], 90, { memoryMiB: 128 })]);
  s.runToEnd();
  t.is(s.containers[0]?.user.shares, 128);
  t.is(s.containers[1]?.user.shares, 64);
  t.is(s.response(0), 135);
  t.is(s.response(1), 180);
});

test('weights that change mid-run take effect at once', async (t) => {
  // Two of 100 ms, equal weights: at 50 ms each has done 25. Then 3:1: the first does its 75 by
  // 150, the second has done 50 then and is alone: 200.
  const s = await scene([fn('a', [0], 100), fn('b', [0], 100)]);
  s.at(50, () => t.is(s.limits(0).setShares(384), 'written'));
  s.runToEnd();
  t.is(s.response(0), 150);
  t.is(s.response(1), 200);
});

test('a quota lifted mid-run lets a throttled activation go on at once', async (t) => {
  // Throttled at 50 with 50 done; lifted at 60: 30 left, ends at 90.
  const s = await scene([fn('a', [0], 80, { userCpuMillicores: 500 })]);
  s.at(60, () => t.is(s.limits(0).setQuota(cores(0)), 'written'));
  s.runToEnd();
  t.is(s.response(0), 90);
});

test('a quota set mid-run starts with a full bucket and throttles from then on', async (t) => {
  // 40 done at 40; a quota of .2 core: 20 more until 60, wait to 100, 20 to 120, wait to 200, 20 to
  // 220: 100.
  const s = await scene([fn('a', [0], 100)]);
  s.at(40, () => t.is(s.limits(0).setQuota(cores(0.2)), 'written'));
  s.runToEnd();
  t.is(s.response(0), 220);
});

test('who cannot use its share leaves it to the others', async (t) => {
  // One core: a uses at most .25, b the other .75. 25 ms of work at .25 = 100 ms; 75 ms at .75 =
  // 100 ms.
  const s = await scene([fn('a', [0], 25, { profile: { parallelism: 0.25 } }), fn('b', [0], 75)]);
  s.runToEnd();
  t.is(s.response(0), 100);
  t.is(s.response(1), 100);
});

test('a parallel activation takes as many cores as it can use', async (t) => {
  const s = await scene([fn('a', [0], 300, { profile: { parallelism: 3 } })], { cores: 4 });
  s.runToEnd();
  t.is(s.response(0), 100);
});

test('waiting for others takes time but no core', async (t) => {
  // a: 20 + 50 of waiting + 20; b runs beside it. Shared from 0: both .5 until a has done 20 at 40
  // (b 20); b alone to 90 (b 70); from 90 shared: a's 20 by 130 (b 90); b's last 10 alone: 140.
  const s = await scene([fn('a', [0], 40, { profile: { ioMs: 50 } }), fn('b', [0], 100)]);
  s.runToEnd();
  t.is(s.response(0), 130);
  t.is(s.response(1), 140);
});

test('an activation that only waits needs no CPU at all', async (t) => {
  const s = await scene([fn('a', [0], 0, { profile: { ioMs: 70 } })]);
  s.runToEnd();
  t.is(s.response(0), 70);
});

test('the kernel counts periods and throttled periods', async (t) => {
  // 220 ms of work at half a core: throttled at 50, 150, 250, 350; ends at 420. Boundaries passed:
  // 100, 200, 300, 400.
  const s = await scene([fn('a', [0], 220, { userCpuMillicores: 500 })]);
  s.runToEnd();
  t.is(s.response(0), 420);
  const sample = emptySample();
  t.true(s.platform.usage.open(s.containers[0]!).sample(sample));
  t.is(sample.periods, 4);
  t.is(sample.throttledPeriods, 4);
  t.is(Number(sample.cpu), 220_000);
});

test('time without a core counts as waiting; throttled time does not', async (t) => {
  // Two equal weights on one core, 60 ms each, until both end at 120: each waits half of the time.
  const shared = await scene([fn('a', [0], 60), fn('b', [0], 60)]);
  const sample = emptySample();
  shared.platform.run(80_000);
  shared.platform.usage.open(shared.containers[0]!).sample(sample);
  t.is(Math.round(sample.waiting), 40_000);
  shared.runToEnd();
  shared.platform.usage.open(shared.containers[0]!).sample(sample);
  t.is(Math.round(sample.waiting), 60_000);
  // Alone under half a core: throttled from 50 to 100.
  const alone = await scene([fn('a', [0], 80, { userCpuMillicores: 500 })]);
  alone.runToEnd();
  alone.platform.usage.open(alone.containers[0]!).sample(sample);
  t.is(sample.waiting, 0);
  t.is(sample.throttledPeriods, 1);
});

test('the peak of a run does not remain as the peak of the next one', async (t) => {
  // The hook resets the peak when the answer passes: then only the retained memory counts.
  const memory = { baseMiB: 40, peakMiB: 140, growth: 0.5, retained: 0 };
  const s = await scene([fn('a', [0], 100, { profile: { memory } })]);
  const sample = emptySample();
  s.platform.tap.start({
    request: () => undefined,
    answer: () => {
      const probe = s.platform.usage.open(s.containers[0]!);
      probe.sample(sample);
      probe.resetPeak();
    },
    closed: () => undefined,
    lost: () => undefined,
    anomaly: () => undefined,
    listening: () => undefined,
    counted: () => undefined,
  });
  s.runToEnd();
  t.is(sample.peak, mib(140));
  t.is(sample.workingSet, mib(40));
  s.platform.usage.open(s.containers[0]!).sample(sample);
  t.is(sample.peak, mib(40));
});

test('a throttled period shows during the run, and the limit can be lifted', async (t) => {
  // As a safeguard does, every 10 ms: throttled at 50, counted when the period ends at 100, lifted
  // then: 50 left, ends at 150.
  const s = await scene([fn('a', [0], 100, { userCpuMillicores: 500 })]);
  const sample = emptySample();
  const stop = s.platform.timers.every(millis(10), () => {
    const probe = s.platform.usage.open(s.containers[0]!);
    if (probe.sample(sample) && sample.throttledPeriods > 0) s.limits(0).setQuota(cores(0));
  });
  s.runToEnd();
  stop();
  t.is(s.response(0), 150);
});

test('a working set above the limit is OOM-killed, and the container is gone', async (t) => {
  // 50 → 150 MiB over 100 ms of work, limit 100: at 50 ms.
  const memory = { baseMiB: 50, peakMiB: 150, growth: 1 };
  const s = await scene([fn('a', [0, 1000], 100, { memoryMiB: 100, profile: { memory } })]);
  s.platform.run(900_000);
  t.is(s.ended[0]?.outcome, ClusterOutcome.outOfMemory);
  t.is(s.response(0), 50);
  t.deepEqual(
    s.log.filter((line) => /^50 /.test(line)).map((line) => line.replace(/wsk\S+/, 'it')),
    ['50 oom it', '50 ended 0 2', '50 reset 2', '50 die it'],
  );
  t.is(s.platform.usage.open(s.containers[0]!).cpu(), -1);
  t.is(s.limits(0).setShares(10), 'gone');
  s.runToEnd();
  t.is(coldStarts(s), 2);
});

test('a limit raised in time saves the activation', async (t) => {
  const memory = { baseMiB: 50, peakMiB: 150, growth: 1 };
  const s = await scene([fn('a', [0], 100, { memoryMiB: 100, profile: { memory } })]);
  s.at(40, () => t.is(s.limits(0).raiseMemory(mib(200)), 'written'));
  s.runToEnd();
  t.is(s.ended[0]?.outcome, ClusterOutcome.success);
  t.is(s.response(0), 100);
});

test('the working set follows the work, and some of it stays behind', async (t) => {
  // 40 → 140 MiB over the first half of 100 ms: at 25 ms half of the way, 90. Afterwards 40 + .3 x
  // 100 = 70.
  const memory = { baseMiB: 40, peakMiB: 140, growth: 0.5, retained: 0.3 };
  const s = await scene([fn('a', [0], 100, { profile: { memory } })]);
  const sample = emptySample();
  const at = (ms: number, mebibytes: number) =>
    s.at(ms, () => {
      s.platform.usage.open(s.containers[0]!).sample(sample);
      t.is(sample.workingSet, mib(mebibytes));
    });
  at(25, 90);
  at(75, 140);
  at(150, 70);
  s.platform.run(200_000);
  t.is(sample.peak, mib(140));
  t.is(s.platform.usage.hostMemoryInUse(), mib(1024 + 70));
});

test('at its time limit an activation has failed, and its container is removed', async (t) => {
  const s = await scene([fn('a', [0], 5000, { timeoutMs: 1000 })]);
  s.platform.run(3_000_000);
  t.is(s.ended[0]?.outcome, ClusterOutcome.timeout);
  t.is(s.response(0), 1000);
  t.deepEqual(
    s.log.slice(-3).map((line) => line.replace(/wsk\S+/, 'it')),
    ['1000 ended 0 1', '1000 reset 2', '1000 die it'],
  );
});

test('a hundred containers share one core alike', async (t) => {
  // 100 activations of 1 ms at the same time: all end after 100 ms.
  const activations = Array.from({ length: 100 }, () => 0);
  const s = await scene([fn('a', activations, 1)], {
    userMemoryMiB: 1_000_000,
    memoryMiB: 1_000_000,
  });
  s.runToEnd();
  for (let activation = 0; activation < 100; activation++)
    t.true(Math.abs(s.response(activation) - 100) <= 0.002);
});

test('activations without memory wait first in, first out; waiting is response only', async (t) => {
  // Room for one container of 256. a runs 100 ms; b waits for it, then a's idle container makes
  // room; c waits behind b.
  const s = await scene(
    [fn('a', [0], 100), fn('b', [10], 50), fn('c', [20], 10, { memoryMiB: 128 })],
    {
      userMemoryMiB: 256,
    },
  );
  s.runToEnd();
  t.is(s.response(0), 100);
  t.is(s.response(1), 140);
  t.is(s.execution(1), 50);
  t.is(s.response(2), 140);
  t.is(s.platform.cluster.containers.admitted[0], 128);
});

test('two activations of one function at a time need two containers', async (t) => {
  const s = await scene([fn('a', [0, 10], 100)], { cores: 2 });
  s.runToEnd();
  t.is(coldStarts(s), 2);
  t.is(s.response(1), 100);
  t.deepEqual(
    s.containers.map(({ name, address }) => `${name} ${address}`),
    ['wsk0_1_guest_a 172.17.0.2', 'wsk0_2_guest_a 172.17.0.3'],
  );
});

test('an idle container is paused, unpaused for an activation, and later removed', async (t) => {
  const s = await scene([fn('a', [0, 20_000], 100)], { host: { idleMs: 30_000 } });
  s.platform.run(70_000_000);
  const seen = s.log
    .filter((line) => /pause|die/.test(line))
    .map((line) => line.replace(/ wsk\S+/, ''));
  // 100 + 10 s; the activation at 20 s waits 20 ms for unpause and ends at 20120; 30120 pause;
  // removed 30 s later.
  t.deepEqual(seen, ['10100 pause', '20020 unpause', '30120 pause', '60120 die']);
  t.is(s.response(1), 120);
});

test('an address goes to the next container at once', async (t) => {
  const s = await scene([fn('a', [0], 5000, { timeoutMs: 1000 }), fn('b', [1200], 10)]);
  s.runToEnd();
  t.is(s.containers[0]?.address, s.containers[1]?.address);
  t.not(s.containers[0]?.id, s.containers[1]?.id);
});

test('a repeating host plays its plan round after round', async (t) => {
  const s = await scene([fn('a', [0, 400], 10)]);
  s.platform.repeat = true;
  // The span is 401 ms: activations at 0, 400, 401, 801, 802.
  s.platform.run(810_000);
  t.is(s.platform.cluster.accounts.arrived, 5);
  t.false(s.platform.finished);
});
