import test from 'ava';
import { type Bytes, type Millicores, millis } from '../../../config/index.js';
import { emptySample, type Limits } from '../../../openwhisk-plugin/decision/index.js';
import { addressOf } from '../../../openwhisk-plugin/host/ports/index.js';
import { SimPlatform } from '../../../simulator/platform/index.js';
import { containerName } from '../../../simulator/platform/sim-platform.js';
import { checkWorkload, planWorkload } from '../../../simulator/workload/index.js';
import { cores, fn, mib, runToEnd, scene } from './scene.js';

test('engine and tap report an activation as a real host does', async (t) => {
  const s = await scene([
    fn('a', [0, 300], 100, { version: '0.0.7', profile: { coldStartMs: 50, initMs: 20 } }),
  ]);
  s.runToEnd();
  const lines = s.log.map((line) => line.replace(/[0-9a-f]{32}/, 'ID'));
  t.deepEqual(lines, [
    '0 reconciled',
    '50 start wsk0_1_guest_a 172.17.0.2',
    '50 init 1 /guest/a@0.0.7 ID',
    '70 answer 1 200',
    '70 closed 1',
    '70 run 2 /guest/a@0.0.7 ID',
    '170 answer 2 200',
    '170 closed 2',
    '170 ended 0 0',
    '300 run 3 /guest/a@0.0.7 ID',
    '400 answer 3 200',
    '400 closed 3',
    '400 ended 1 0',
  ]);
  const ids = s.log.map((line) => /[0-9a-f]{32}/.exec(line)?.[0]).filter((id) => id !== undefined);
  // `/init` and the first `/run` are one activation.
  t.is(ids.length, 3);
  t.is(ids[0], ids[1]);
  t.not(ids[1], ids[2]);
});

test('the tap speaks only of addresses that are bound, on bridges that are watched', async (t) => {
  const s = await scene([fn('a', [0, 300, 600], 10)]);
  s.platform.run(100_000);
  s.platform.tap.watch([]);
  s.platform.run(400_000);
  s.platform.tap.watch([{ interfaceName: 'docker0', networkName: 'bridge', gateway: null }]);
  s.platform.tap.unbind(addressOf('172.17.0.2'));
  s.runToEnd();
  t.is(s.log.filter((line) => line.includes(' run ')).length, 1);
  t.is(s.log.filter((line) => line.includes(' ended ')).length, 3);
});

test('the deadline is what OpenWhisk would say, on the simulated wall clock', async (t) => {
  const workload = checkWorkload({
    version: 1,
    name: 'x',
    functions: [fn('a', [250], 10, { timeoutMs: 5000 })],
  });
  const platform = new SimPlatform(planWorkload(workload), { epochMicros: 1_000_000 });
  const deadlines: number[] = [];
  await platform.engine.start({
    containerStarted: (container) => {
      t.is(Number(container.startedAt), 1_250_000);
      platform.tap.bind(addressOf('172.17.0.2'), container.startedAt);
    },
    containerEnded: () => {},
    containerPaused: () => {},
    containerOom: () => {},
    bridgesChanged: (bridges) => platform.tap.watch(bridges),
    reconciled: () => {},
    engineDown: () => {},
  });
  platform.tap.start({
    request: (request) => deadlines.push(request.identity!.deadline - request.at),
    answer: () => {},
    closed: () => {},
    lost: () => {},
    anomaly: () => {},
    listening: () => {},
    counted: () => {},
  });
  runToEnd(platform);
  t.deepEqual(deadlines, [5_000_000, 5_000_000]);
  t.is(platform.clock.monotonic(), millis(260));
  t.is(Number(platform.clock.wall()), 1_260_000);
});

test('an engine that is started late tells what runs already', async (t) => {
  const workload = checkWorkload({ version: 1, name: 'x', functions: [fn('a', [0], 10)] });
  const platform = new SimPlatform(planWorkload(workload));
  platform.run(5000);
  const seen: string[] = [];
  await platform.engine.start({
    containerStarted: (container) => seen.push(container.name),
    containerEnded: () => {},
    containerPaused: () => {},
    containerOom: () => {},
    bridgesChanged: () => seen.push('bridges'),
    reconciled: () => seen.push('reconciled'),
    engineDown: () => {},
  });
  t.deepEqual(seen, ['bridges', 'wsk0_1_guest_a', 'reconciled']);
  t.deepEqual(await platform.engine.facts(), {
    cpu: 4000 as Millicores,
    memory: mib(8192),
    cgroupVersion: 1,
    cgroupDriver: 'cgroupfs',
    engineVersion: 'simulated',
    apiVersion: '1.41',
  });
});

test('an engine that is started late reports a paused container as paused', async (t) => {
  const workload = checkWorkload({ version: 1, name: 'x', functions: [fn('a', [0], 10)] });
  const platform = new SimPlatform(planWorkload(workload));
  platform.run(15_000_000);
  const paused: boolean[] = [];
  await platform.engine.start({
    containerStarted: (container) => paused.push(container.paused),
    containerEnded: () => {},
    containerPaused: () => {},
    containerOom: () => {},
    bridgesChanged: () => {},
    reconciled: () => {},
    engineDown: () => {},
  });
  t.deepEqual(paused, [true]);
});

test('limits are written, rounded and refused as a kernel does, and read back', async (t) => {
  const s = await scene([fn('a', [0], 200, { userCpuMillicores: 500 })]);
  s.platform.run(10_000);
  const handle = s.limits(0);
  const now: Limits = { shares: 0, quota: 0 as Millicores, memory: 0 as Bytes };
  t.true(handle.read(now));
  t.deepEqual(now, { shares: 128, quota: cores(0.5), memory: mib(256) });
  t.is(handle.setShares(128), 'unchanged');
  t.is(handle.setShares(0), 'written');
  t.is(s.platform.limits.expressible(0), 2);
  t.is(s.platform.limits.expressible(1e9), 262_144);
  t.is(handle.setShares(Number.NaN), 'refused');
  t.is(handle.setQuota(cores(0.5)), 'unchanged');
  // The kernel takes no quota below 1 ms of 100.
  t.is(handle.setQuota(cores(0.009)), 'refused');
  t.is(handle.setQuota(cores(0.75)), 'written');
  t.is(handle.raiseMemory(mib(128)), 'refused');
  t.is(handle.raiseMemory(((mib(300) as number) + 100) as Bytes), 'written');
  t.is(handle.raiseMemory(mib(300)), 'unchanged');
  t.is(await handle.lowerMemory(mib(400)), 'refused');
  // In use: 40 MiB and a part of the way to 60.
  t.is(await handle.lowerMemory(mib(44)), 'refused');
  t.is(await handle.lowerMemory(mib(100)), 'written');
  t.is(handle.protectMemory(mib(1)), 'unsupported');
  t.true(handle.read(now));
  t.deepEqual(now, { shares: 2, quota: cores(0.75), memory: mib(100) });
  t.deepEqual(handle.expected, now);
  handle.close();
  t.is(handle.setShares(4), 'gone');
  t.false(handle.read(now));
});

test('drift shows: a limit differs from what the handle expected', async (t) => {
  const s = await scene([fn('a', [0], 200)]);
  s.platform.run(10_000);
  const first = s.limits(0);
  s.limits(0).setShares(77);
  const now: Limits = { shares: 0, quota: 0 as Millicores, memory: 0 as Bytes };
  first.read(now);
  t.is(first.expected.shares, 128);
  t.is(now.shares, 77);
});

test('counters: CPU, peak since reset, frozen', async (t) => {
  const s = await scene([fn('a', [0], 100)], { host: { pauseGraceMs: 50 } });
  s.platform.run(60_000);
  const probe = s.platform.usage.open(s.containers[0]!);
  const sample = emptySample();
  t.is(probe.cpu(), 60_000);
  s.platform.run(120_000);
  t.true(probe.sample(sample));
  t.is(Number(sample.cpu), 100_000);
  t.is(sample.peak, mib(60));
  t.is(sample.workingSet, mib(40));
  t.false(sample.frozen);
  t.is(sample.at, millis(120));
  probe.resetPeak();
  s.platform.run(200_000);
  probe.sample(sample);
  t.is(sample.peak, mib(40));
  t.true(sample.frozen);
  probe.close();
  t.false(probe.sample(sample));
});

test('timers run in simulated time, and not after they are canceled', async (t) => {
  const s = await scene([fn('a', [0], 100)]);
  const seen: string[] = [];
  const { timers, clock } = s.platform;
  timers.after(millis(30), () => seen.push(`once ${clock.monotonic()}`));
  const stop = timers.every(millis(20), () => {
    seen.push(`tick ${clock.monotonic()}`);
    if (clock.monotonic() >= 60) stop();
  });
  timers.after(millis(10), () => seen.push('never'))();
  s.platform.run(200_000);
  t.deepEqual(seen, ['tick 20', 'once 30', 'tick 40', 'tick 60']);
});

test('stopped, engine and tap are silent', async (t) => {
  const s = await scene([fn('a', [100], 10)]);
  await s.platform.engine.stop();
  await s.platform.tap.stop();
  s.runToEnd();
  t.deepEqual(s.log, ['0 reconciled', '110 ended 0 0']);
});

test('container names lose what OpenWhisk’s lose', (t) => {
  t.is(containerName(3, '/guest/a_b-c'), 'wsk0_3_guest_a_bc');
  t.is(containerName(12, '/some.one/pkg/thumb nail'), 'wsk0_12_someone_thumbnail');
});
