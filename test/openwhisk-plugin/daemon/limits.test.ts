import test from 'ava';
import { type Bytes, mebibytes } from '../../../config/index.js';
import { EngineResponseError } from '../../../openwhisk-plugin/host/engine/index.js';
import { FakeContainer, HookRig } from './hook-rig.js';

const counters = (rig: HookRig): Record<string, number> =>
  rig.hook.inspect().counters as Record<string, number>;
const learned = async (rig: HookRig): Promise<FakeContainer> => {
  await rig.start();
  const container = rig.container({ quota: 1000 });
  container.call(400, 200);
  return container;
};

test('a container that starts has the greatest weight until its /init is answered', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container({ shares: 128 }, false);
  t.is(container.cgroup.inForce.shares, 262_144);
  container.init();
  t.is(container.cgroup.inForce.shares, 128);
  await rig.hook.stop();
});

test('a boosted container gets the cores of the host, and then its own quota', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container({ quota: 500 }, false);
  t.is(container.cgroup.inForce.quota, 8000);
  container.init();
  t.is(container.cgroup.inForce.quota, 500);
  await rig.hook.stop();
});

test('a boost ends after 10 s without answer, and at a prewarmed container’s /run', async (t) => {
  const rig = await new HookRig().start();
  const slow = rig.container({}, false);
  rig.advance(9900);
  t.is(slow.cgroup.inForce.shares, 262_144);
  rig.advance(200);
  t.is(slow.cgroup.inForce.shares, 128);
  const prewarmed = rig.container({ quota: 500 }, false);
  prewarmed.run();
  t.is(prewarmed.cgroup.inForce.shares, 128);
  t.is(prewarmed.cgroup.inForce.quota, 500);
  await rig.hook.stop();
});

test('a prewarmed container is boosted when /init arrives, not before', async (t) => {
  // An unmodified OpenWhisk keeps prewarmed containers ready all the time: each had a boost
  // for ten seconds.
  const rig = await new HookRig().start();
  const prewarmed = rig.container({ name: 'wskhost_a0_3_prewarm_nodejs20', quota: 500 }, false);
  t.deepEqual(prewarmed.cgroup.writes, []);
  rig.advance(60_000);
  t.deepEqual(prewarmed.cgroup.writes, []);
  const init = prewarmed.sendInit();
  t.is(prewarmed.cgroup.inForce.shares, 262_144);
  t.is(prewarmed.cgroup.inForce.quota, 8000);
  // It shares the factor with others that start (docs/decisions/0007): the second gets a quarter.
  const second = rig.container({}, false);
  t.is(second.cgroup.inForce.shares, 128 * 1024);
  prewarmed.answer(init);
  t.is(prewarmed.cgroup.inForce.shares, 128);
  t.is(prewarmed.cgroup.inForce.quota, 500);
  await rig.hook.stop();
});

test('a container is boosted once; one that was prewarmed earlier, at its /init', async (t) => {
  const rig = new HookRig();
  const info = rig.info({ name: 'wsk0_1_prewarm_nodejs20' });
  rig.platform.before.push(info);
  await rig.start();
  const adopted = new FakeContainer(rig, info);
  t.deepEqual(adopted.cgroup.writes, []);
  adopted.sendInit();
  t.is(adopted.cgroup.inForce.shares, 262_144);
  const slow = rig.container({}, false);
  rig.advance(10_100);
  slow.sendInit();
  t.is(slow.cgroup.inForce.shares, 128, 'its ten seconds are over');
  await rig.hook.stop();
});

test("OpenWhisk's own health action is not boosted and never limited", async (t) => {
  // The invoker's own health check must not change.
  const rig = await new HookRig().start();
  const container = rig.container({
    name: 'wskhost_a.b-0_1_whisksystem_invokerHealthTestAction0',
    quota: 1000,
  });
  for (let i = 0; i < 5; i++)
    container.call(200, 100, { action: '/whisk.system/invokerHealthTestAction0' });
  t.deepEqual(container.cgroup.writes, []);
  await rig.hook.stop();
});

test('containers of other programs or of another invoker are not touched', async (t) => {
  // The prefix wsk1 matches at the start only, and is not wsk10.
  const rig = new HookRig((config) => Object.assign(config.hook, { containerPrefix: 'wsk1' }));
  await rig.start();
  for (const name of ['wsk10_5_guest_a', 'my-wsk1_5_x', 'postgres']) {
    rig.platform.listener.containerStarted(rig.info({ name }));
  }
  t.is(rig.platform.cgroups.size, 0);
  rig.platform.listener.containerStarted(rig.info({ name: 'wsk1_5_guest_a' }));
  t.is(rig.platform.cgroups.size, 1);
  await rig.hook.stop();
});

test('in weight mode a short function gets more weight, and no quota is set', async (t) => {
  const rig = await new HookRig().start();
  const short = rig.container({ name: 'wsk0_1_guest_short' });
  const long = rig.container({ name: 'wsk0_2_guest_long' });
  for (let i = 0; i < 4; i++) {
    short.call(20, 1000, { action: '/guest/short' });
    long.call(2000, 1000, { action: '/guest/long' });
  }
  // 5 x the geometric mean by CPU time: before the last one 4 x 20 and 3 x 2000 ms.
  const reference = 5 * Math.exp((80 * Math.log(20) + 6000 * Math.log(2000)) / 6080);
  t.is(short.cgroup.inForce.shares, 262_144, 'the most that the kernel has');
  // The histogram's buckets are 5 % wide, and the weight goes with the square.
  const factor = long.cgroup.inForce.shares / 128;
  t.true(Math.abs(factor / (reference / 2000) ** 2 - 1) < 0.05);
  t.is(short.cgroup.inForce.quota, 0);
  t.is(long.cgroup.inForce.quota, 0);
  t.is(long.cgroup.inForce.memory, mebibytes(256));
  await rig.hook.stop();
  t.is(short.cgroup.inForce.shares, 128);
  t.is(long.cgroup.inForce.shares, 128);
});

test('the first throttled period gives the user limit back in the middle of a run', async (t) => {
  const rig = new HookRig();
  const container = await learned(rig);
  const connection = container.run();
  const low = container.cgroup.inForce.quota;
  t.true(low < 1000);
  container.work(120, 150);
  t.is(container.cgroup.inForce.quota, low);
  container.cgroup.usage.periods += 1;
  container.cgroup.usage.throttledPeriods += 1;
  container.work(110, 150);
  t.is(container.cgroup.inForce.quota, 1000);
  container.answer(connection);
  t.like(counters(rig), { safeguards: 1 });
  t.true(rig.hook.explain('/guest/hello')[0]?.trippedCpu);
  await rig.hook.stop();
});

test('a limit that something else changed is repaired, counted and audited', async (t) => {
  const rig = new HookRig();
  const container = await learned(rig);
  for (const drift of [1, 2, 3]) {
    container.cgroup.inForce.quota = 50;
    container.cgroup.inForce.shares = 2;
    // All containers are compared within 5 s, even if there is only one.
    rig.advance(5100);
    t.is(container.cgroup.inForce.quota, 1000);
    t.is(container.cgroup.inForce.shares, 128);
    t.like(counters(rig), { drift });
  }
  await rig.hook.stop();
});

test('a refused quota leaves the old limit, and the pool knows', async (t) => {
  const rig = new HookRig();
  const container = await learned(rig);
  container.cgroup.quotaResult = 'refused';
  container.run();
  t.like(counters(rig), { limitsRefused: 1 });
  t.is(container.cgroup.inForce.quota, 1000);
  const report = rig.hook.inspect().host;
  // Nothing is harvested from it: the pool is the host's 8 cores less the user's one.
  t.is(report.poolCpu, 7000);
  container.cgroup.quotaResult = null;
  await rig.hook.stop();
});

test('a kill at the user limit earns the next container a loan for its life', async (t) => {
  const rig = new HookRig((config) =>
    Object.assign(config.decision.memory, { invokerMemoryMiB: 2048 }),
  );
  await rig.start();
  const first = rig.container({ memory: mebibytes(256) });
  const connection = first.run();
  first.work(300, 200, mebibytes(250));
  rig.platform.listener.containerOom(first.info.id);
  first.closed(connection, true);
  first.end();
  t.like(counters(rig), { oomUser: 1, oomHarvest: 0 });
  rig.advance(2000);
  const second = rig.container({ memory: mebibytes(256) });
  const again = second.run();
  // The bump is max(x1.2, +100 MiB): 356 MiB.
  t.is(second.cgroup.inForce.memory, mebibytes(356));
  second.work(300, 200, mebibytes(300));
  second.answer(again);
  t.is(second.cgroup.inForce.memory, mebibytes(356));
  t.like(counters(rig), { loans: 1 });
  second.cgroup.usage.workingSet = mebibytes(50);
  await rig.hook.stop();
  t.is(second.cgroup.inForce.memory, mebibytes(256));
});

test('a loan still in use is left to the container, and the stop of the hook fails', async (t) => {
  const rig = new HookRig((config) =>
    Object.assign(config.decision.memory, { invokerMemoryMiB: 2048 }),
  );
  await rig.start();
  const first = rig.container({ memory: mebibytes(256) });
  first.run();
  rig.platform.listener.containerOom(first.info.id);
  first.end();
  rig.advance(2000);
  const second = rig.container({ memory: mebibytes(256) });
  second.run();
  second.work(300, 200, mebibytes(300));
  await t.throwsAsync(() => rig.hook.stop(), { code: 'GLN_LIMITS_NOT_RESTORED' });
  t.is(second.cgroup.inForce.memory, mebibytes(356));
});

/** faasrm memory: peak 40 MiB of 256 MiB, so the next limit is far below the user's. */
async function harvestedMemory(rig: HookRig): Promise<FakeContainer> {
  await rig.start();
  const container = rig.container({ memory: mebibytes(256), quota: 1000 });
  container.call(400, 200);
  return container;
}
const faasrm = (): HookRig =>
  new HookRig((config) => Object.assign(config.decision.memory, { policy: 'faasrm' }));

test('an OOM kill under a lowered limit counts as ours; then user limits apply', async (t) => {
  const rig = faasrm();
  const container = await harvestedMemory(rig);
  const connection = container.run();
  await new Promise((resolve) => setImmediate(resolve));
  t.true(container.cgroup.inForce.memory < mebibytes(256));
  // Below .8 of the limit (64 MiB, the floor) at the last sample, then 100 MB at once: no sampler
  // sees that.
  container.work(100, 200, mebibytes(45));
  container.cgroup.usage.oomKills = 1;
  container.closed(connection, true);
  rig.platform.listener.containerOom(container.info.id);
  container.end();
  t.like(counters(rig), { oomHarvest: 1, oomUser: 0 });
  const next = rig.container({ memory: mebibytes(256), quota: 1000 });
  next.run();
  await new Promise((resolve) => setImmediate(resolve));
  t.is(next.cgroup.inForce.memory, mebibytes(256));
  await rig.hook.stop();
});

test('an OOM-killed child process counts once, from counter and event', async (t) => {
  // The event fires, the counter says 1, the container is still running.
  const rig = new HookRig();
  const container = await learned(rig);
  const connection = container.run();
  container.work(50, 200);
  container.cgroup.usage.oomKills = 1;
  container.work(150, 200);
  rig.platform.listener.containerOom(container.info.id);
  container.answer(connection, 502);
  t.like(counters(rig), { oomUser: 1, oomHarvest: 0 });
  await rig.hook.stop();
});

test('an OOM event after the end of its container counts for its function', async (t) => {
  // Docker may send the event after the container's end.
  const rig = new HookRig();
  const container = await learned(rig);
  container.run();
  rig.advance(50);
  container.end();
  const next = rig.container({ quota: 1000, name: 'wsk0_9_guest_other' });
  next.call(100, 100, { action: '/guest/other' });
  rig.advance(5000);
  rig.platform.listener.containerOom(container.info.id);
  const ooms = rig.hook.inspect().functions.map((fn) => [fn.name, fn.ooms.user]);
  t.deepEqual(ooms.sort(), [
    ['/guest/hello', 1],
    ['/guest/other', 0],
  ]);
  await rig.hook.stop();
});

test('a container with limits that an earlier hook left is restored first', async (t) => {
  const rig = new HookRig();
  const info = rig.info({ quota: 1000 });
  rig.platform.before.push(info);
  const cgroup = rig.platform.open(info);
  cgroup.inForce.quota = 200;
  cgroup.inForce.memory = mebibytes(128);
  cgroup.inForce.shares = 2048;
  Object.assign(cgroup.expected, cgroup.inForce);
  await rig.start();
  t.deepEqual(cgroup.inForce, { shares: 128, quota: 1000, memory: mebibytes(256) as number });
  await rig.hook.stop();
});

test('only what is enforced is written: observe and recommend write nothing', async (t) => {
  for (const mode of ['observe', 'recommend'] as const) {
    const rig = new HookRig((config) => Object.assign(config, { mode }));
    const container = await learned(rig);
    container.run();
    t.deepEqual(container.cgroup.writes, [], mode);
    await rig.hook.stop();
  }
});

test('a pattern puts one function into another mode than the rest', async (t) => {
  const rig = new HookRig((config) => {
    Object.assign(config.functions, { overrides: [{ match: '/guest/no-*', mode: 'observe' }] });
  });
  await rig.start();
  const managed = rig.container({ quota: 1000, name: 'wsk0_1_guest_yes' });
  const left = rig.container({ quota: 1000, name: 'wsk0_2_guest_nothanks' });
  for (const [container, action] of [
    [managed, '/guest/yes'],
    [left, '/guest/no-thanks'],
  ] as const) {
    container.call(400, 200, { action });
    container.run({ action });
  }
  t.true(managed.cgroup.inForce.quota < 1000);
  t.is(left.cgroup.inForce.quota, 1000);
  await rig.hook.stop();
});

test('a vanished cgroup ends what ran in it', async (t) => {
  const rig = new HookRig();
  const container = await learned(rig);
  container.run();
  container.cgroup.gone = true;
  rig.advance(200);
  t.is(rig.hook.inspect().host.running, 0);
  container.end();
  t.like(counters(rig), { containerEnd: 1 });
  await rig.hook.stop();
});

test('memory above 2 GiB is handled as bytes, not as 32-bit numbers', async (t) => {
  // 4096 MB: in JavaScript 4096 << 20 is 0.
  const rig = await new HookRig().start();
  const container = rig.container({ memory: (4096 * 1024 * 1024) as Bytes, quota: 1000 });
  container.call(100, 100);
  t.is(rig.hook.inspect().functions[0]?.userMemory, 4_294_967_296);
  await rig.hook.stop();
});

test('an activation whose limits were restored midway is not learned from', async (t) => {
  const rig = new HookRig();
  await rig.start();
  const container = rig.container({ quota: 1000 });
  // 800 CPU-ms: too long for the rule that spares short calls.
  container.call(4000, 200);
  const connection = container.run();
  const { quota } = container.cgroup.inForce;
  rig.hook.toggleKillSwitch();
  rig.hook.toggleKillSwitch();
  // The kill switch was on and off again; a peak of 210 would raise the lower bound to 210 / .75 =
  // 280, had it counted.
  container.work(200, 150);
  container.work(200, 210);
  container.answer(connection);
  container.run();
  t.is(container.cgroup.inForce.quota, quota);
  await rig.hook.stop();
});

test('an operator’s bounds clip a target, and the safeguard’s range wins over them', async (t) => {
  // Bounds .25 to .5 cores; the agent asks for .9 and for .1. Peak 200: the range
  // begins at 267.
  const rig = new HookRig((config) => {
    Object.assign(config.decision.policy, { quota: 'largest-in-range' });
    const bounds = { cpuMillicores: { min: 250, max: 500 } };
    Object.assign(config.functions, { overrides: [{ match: '/guest/*', bounds }] });
  });
  await rig.start();
  const container = rig.container({ quota: 1000 });
  container.call(4000, 200);
  const connection = container.run();
  t.is(container.cgroup.inForce.quota, 500);
  container.answer(connection);
  await rig.hook.stop();
});

test('bounds leave weights to their policy', async (t) => {
  const rig = new HookRig((config) => {
    const bounds = { cpuMillicores: { min: 250, max: 500 } };
    Object.assign(config.functions, { overrides: [{ match: '/guest/*', bounds }] });
  });
  await rig.start();
  const [short, long] = [rig.container(), rig.container()];
  for (let i = 0; i < 4; i++) {
    short.call(20, 1000, { action: '/guest/short' });
    long.call(2000, 1000, { action: '/guest/long' });
  }
  t.true(short.cgroup.inForce.shares > long.cgroup.inForce.shares);
  await rig.hook.stop();
});

test('a weight that its policy does not revise stays, also with a common factor', async (t) => {
  const rig = new HookRig((config) => {
    const bounds = { cpuMillicores: { min: 250, max: 500 } };
    config.decision.policy.weight = 'short-first';
    Object.assign(config.functions, { overrides: [{ match: '/guest/*', bounds }] });
  });
  await rig.start();
  const container = rig.container({ shares: 2 });
  container.call(400, 200);
  const connection = container.run();
  // Alone a function is a fifth of the reference; 2 shares have a common factor of 16.
  t.is(container.cgroup.inForce.shares, 2 * 16 * 5);
  for (let i = 0; i < 5; i++) container.work(100, 50);
  t.is(container.cgroup.inForce.shares, 2 * 16 * 5);
  container.answer(connection);
  await rig.hook.stop();
  t.is(container.cgroup.inForce.shares, 2);
});

test('an override that names an unknown policy fails the start, not an activation', async (t) => {
  const rig = new HookRig((config) => {
    Object.assign(config.functions, { overrides: [{ match: '/guest/*', policy: 'magic' }] });
  });
  await t.throwsAsync(() => rig.start(), { message: /magic/ });
});

test('a container that the engine no longer lists gets its user limits once more', async (t) => {
  const rig = new HookRig();
  const container = await learned(rig);
  const gone = rig.container({ quota: 1000 });
  for (const each of [container, gone]) {
    each.run();
    t.true(each.cgroup.inForce.quota < 1000, 'the function uses a fifth of its quota');
  }
  gone.cgroup.gone = true;
  const { listener } = rig.platform;
  for (const { info } of [container, gone]) listener.containerEnded(info.id, true);
  t.is(container.cgroup.inForce.quota, 1000);
  t.is(container.cgroup.inForce.shares, 128);
  const named = rig.lines.filter(({ message }) => message.includes('no longer shows'));
  t.is(named.length, 1);
  t.like(named[0]?.fields, { container: container.info.id });
  t.regex(named[0]?.message ?? '', /: user limits restored$/);
  await rig.hook.stop();
});

test('the warning of a container no longer listed says what happened to its limits', async (t) => {
  const rig = new HookRig();
  const container = await learned(rig);
  const untouched = rig.container({ quota: 1000 });
  container.run();
  container.cgroup.quotaResult = 'refused';
  const { listener } = rig.platform;
  for (const { info } of [container, untouched]) {
    listener.containerEnded(info.id, true);
    rig.advance(120_000);
  }
  const texts = rig.lines
    .filter(({ message }) => message.includes('no longer shows'))
    .map(({ message }) => message.split(': ')[1]);
  t.deepEqual(texts, [
    'user limits restored, but for a memory loan or a refused write',
    'it had its user limits',
  ]);
  await rig.hook.stop();
});

test('the warning of an unreadable answer says whether the container is managed', async (t) => {
  const rig = await new HookRig().start();
  const managed = rig.container();
  const { listener } = rig.platform;
  const error = new EngineResponseError('no Memory');
  for (const id of [managed.info.id, rig.info().id]) {
    listener.containerUnreadable?.(id, error);
    rig.advance(120_000);
  }
  const texts = rig.lines.filter(({ message }) => message.endsWith('no Memory'));
  t.deepEqual(
    texts.map(({ message }) => message.split(': ')[0]),
    ['a container stays managed with the user limits known before', 'a container is not managed'],
  );
  await rig.hook.stop();
});
