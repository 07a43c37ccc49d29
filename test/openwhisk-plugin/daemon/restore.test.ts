import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { type Config, type Millicores, mebibytes } from '../../../config/index.js';
import type { WriteResult } from '../../../openwhisk-plugin/decision/index.js';
import { FakeContainer, HookRig } from './hook-rig.js';

/** A limit that was lowered for one activation must never bind another one, nor outlive it. */
async function learned(
  change: (config: Config) => void = () => undefined,
): Promise<[HookRig, FakeContainer]> {
  const rig = await new HookRig(change).start();
  const container = rig.container({ quota: 1000 });
  container.call(400, 200);
  return [rig, container];
}

/**
 * An answer after another activation has started beside it proves that the function runs several at
 * once.
 */
function makeConcurrent(container: FakeContainer): void {
  const first = container.run();
  const second = container.run();
  container.answer(first);
  container.answer(second);
}

const quotaOf = (container: FakeContainer): number => container.cgroup.inForce.quota;
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a late start beside a limited activation restores the user limit', async (t) => {
  const [rig, container] = await learned();
  makeConcurrent(container);
  const guarded = container.run();
  t.true(quotaOf(container) < 1000);
  const late = container.run({ late: 100 });
  t.is(quotaOf(container), 1000);
  container.answer(guarded);
  t.is(quotaOf(container), 1000);
  container.answer(late);
  await rig.hook.stop();
});

test('a guarded start that joins a late one leaves it the user limit', async (t) => {
  const [rig, container] = await learned();
  makeConcurrent(container);
  const late = container.run({ late: 100 });
  const guarded = container.run();
  t.is(quotaOf(container), 1000);
  container.answer(guarded);
  t.is(quotaOf(container), 1000);
  container.answer(late);
  await rig.hook.stop();
});

test('an unreadable request beside other activations restores user limits', async (t) => {
  const [rig, container] = await learned();
  makeConcurrent(container);
  const guarded = container.run();
  t.true(quotaOf(container) < 1000);
  container.unreadable();
  t.is(quotaOf(container), 1000);
  container.answer(guarded);
  t.is(quotaOf(container), 1000);
  await rig.hook.stop();
});

test('a lowered memory limit is restored at the end after a reload of the policy', async (t) => {
  const [rig, container] = await learned((config) =>
    Object.assign(config.decision.memory, { policy: 'faasrm' }),
  );
  const connection = container.run();
  await soon();
  t.true(container.cgroup.inForce.memory < mebibytes(256));
  const next = structuredClone(rig.config) as Config;
  Object.assign(next.decision.memory, { policy: 'guarantee' });
  rig.hook.reload(next);
  container.answer(connection);
  await soon();
  t.is(container.cgroup.inForce.memory, mebibytes(256));
  await rig.hook.stop();
});

test('the kill switch reaches containers of functions that left the registry', async (t) => {
  const [rig, container] = await learned((config) =>
    Object.assign(config.decision, { maxFunctions: 1 }),
  );
  container.run();
  t.true(quotaOf(container) < 1000);
  rig.container({ quota: 1000 }).call(400, 200, { action: '/guest/other' });
  t.true(quotaOf(container) < 1000);
  rig.hook.toggleKillSwitch();
  t.is(quotaOf(container), 1000);
  await rig.hook.stop();
});

test('a reload reaches the history of a function with long-lived containers', async (t) => {
  const [rig, container] = await learned((config) =>
    Object.assign(config.decision, { maxFunctions: 2 }),
  );
  for (const action of ['/guest/a', '/guest/b', '/guest/c']) {
    const other = rig.container({ quota: 1000 });
    other.call(400, 200, { action });
    other.end();
  }
  t.true(container.quotaOfCall() < 1000);
  const next = structuredClone(rig.config) as Config;
  const own = { match: '/guest/hello', policy: 'largest-in-range' };
  Object.assign(next.functions, { overrides: [own] });
  rig.hook.reload(next);
  t.true(container.quotaOfCall() >= 1000);
  await rig.hook.stop();
});

test('what is restored is no longer lent: the borrower is cut back at once', async (t) => {
  const [rig, lender] = await learned();
  const borrower = rig.container({ quota: 6500 });
  const startBorrower = (): number => borrower.run({ action: '/guest/wants' });
  const first = startBorrower();
  borrower.work(400, 6400);
  borrower.answer(first);
  lender.run();
  const lowered = quotaOf(lender);
  t.true(lowered < 1000);
  startBorrower();
  // Its peak asks for more than the 8 cores; it gets what the lender was not granted.
  t.true(Math.abs(quotaOf(borrower) - (8000 - lowered)) < 1e-6);
  const next = structuredClone(rig.config) as Config;
  Object.assign(next.functions, { overrides: [{ match: '/guest/hello', mode: 'observe' }] });
  rig.hook.reload(next);
  t.is(quotaOf(lender), 1000);
  t.is(quotaOf(borrower), 7000);
  await rig.hook.stop();
});

test('returned CPU is lent to a running activation with an audit record', async (t) => {
  const rig = await new HookRig().start();
  const [first, second] = [rig.container({ quota: 3000 }), rig.container({ quota: 3000 })];
  const begin = (container: FakeContainer, action: string): number => container.run({ action });
  for (const [container, action] of [
    [first, '/guest/first'],
    [second, '/guest/second'],
  ] as const) {
    const learning = begin(container, action);
    container.work(400, 3000);
    container.answer(learning);
  }
  const one = begin(first, '/guest/first');
  const two = begin(second, '/guest/second');
  // Each wants 3 / .75 = 4 of 8 cores. Then a third one takes its user's 2: what lies above 3 + 3
  // gives way, until it ends.
  t.deepEqual([quotaOf(first), quotaOf(second)], [4000, 4000]);
  const third = rig.container({ quota: 2000 });
  const own = third.run({ action: '/guest/third' });
  t.deepEqual([quotaOf(first), quotaOf(second)], [3000, 3000]);
  third.answer(own);
  t.deepEqual([quotaOf(first), quotaOf(second)], [4000, 4000]);
  // So does one that came too late to be managed itself.
  rig.advance(200);
  const late = third.run({ action: '/guest/third', late: 100 });
  t.deepEqual([quotaOf(first), quotaOf(second)], [3000, 3000]);
  third.answer(late);
  third.run({ action: '/guest/third' });
  rig.hook.toggleKillSwitch();
  first.answer(one);
  t.deepEqual([quotaOf(first), quotaOf(second)], [3000, 3000]);
  second.answer(two);
  await rig.hook.stop();
  const lines = readFileSync(join(rig.config.hook.stateDir, 'audit.jsonl'), 'utf8').split('\n');
  const later = lines
    .filter((line) => line.includes('"why":"lent_later"'))
    .map((line) => JSON.parse(line));
  t.deepEqual(
    later.map(({ who, resource, old, new: now }) => [who, resource, old, now]),
    Array.from({ length: 4 }, () => ['pool', 'cpu.quota', 3000, 4000]),
  );
});

test('a loan that an earlier hook left in use is not promised to anybody else', async (t) => {
  const rig = new HookRig((config) =>
    Object.assign(config.decision.memory, { invokerMemoryMiB: 2048 }),
  );
  const left = rig.info();
  rig.platform.before.push(left);
  const cgroup = rig.platform.open(left);
  cgroup.inForce.memory = mebibytes(512);
  cgroup.expected.memory = mebibytes(512);
  cgroup.usage.workingSet = mebibytes(450);
  await rig.start();
  await soon();
  t.is(cgroup.inForce.memory, mebibytes(512));
  // 16384 - 2048 user-memory - 256 reserve - 13830 in use beyond the containers leave 250 MiB, of
  // which 256 are out on loan.
  rig.platform.memoryInUse = mebibytes(13_830 + 450);
  rig.advance(12_000);
  const first = rig.container();
  first.run();
  rig.platform.listener.containerOom(first.info.id);
  first.end();
  const second = rig.container();
  second.run();
  t.is(second.cgroup.inForce.memory, mebibytes(256));
  // The loan is still in use.
  await t.throwsAsync(() => rig.hook.stop(), { code: 'GLN_LIMITS_NOT_RESTORED' });
});

test('no time paused counts in the window in which busy cores are measured', async (t) => {
  const [rig, container] = await learned();
  const connection = container.run();
  container.work(120, 100);
  container.cgroup.usage.frozen = true;
  container.work(1000, 0);
  container.cgroup.usage.frozen = false;
  // 75 ms after the last frozen reading at most, so the next window is about these 100 ms and not
  // about 1100.
  container.work(100, 700);
  container.answer(connection);
  const peak = rig.hook.explain('/guest/hello')[0]?.cpu.peak ?? 0;
  t.true(peak >= 300, `peak ${peak}`);
  await rig.hook.stop();
});

test('a quota that the kernel changed to another is replaced by the user limit', async (t) => {
  const [rig, container] = await learned();
  const { cgroup } = container;
  const write = cgroup.setQuota.bind(cgroup);
  let answer: WriteResult | null = 'not_effective';
  cgroup.setQuota = (quota: Millicores): WriteResult => {
    const result = write(quota);
    const told = answer ?? result;
    answer = null;
    return told;
  };
  const connection = container.run();
  t.is(quotaOf(container), 1000);
  container.answer(connection);
  await rig.hook.stop();
});

test('a quota that could not be restored is retried while the container is idle', async (t) => {
  const [rig, container] = await learned();
  const connection = container.run();
  t.true(quotaOf(container) < 1000);
  container.cgroup.quotaResult = 'refused';
  container.answer(connection);
  t.true(quotaOf(container) < 1000);
  container.cgroup.quotaResult = null;
  rig.advance(11_000);
  t.is(quotaOf(container), 1000);
  await rig.hook.stop();
});

test('a pod gets its user limits back when its container ends', async (t) => {
  const rig = await new HookRig().start();
  for (const isPod of [true, false]) {
    const info = rig.info({ quota: 1000 });
    const pod = { uid: 'uid-1', user: info.user };
    const started = isPod ? { ...info, pod } : info;
    rig.platform.listener.containerStarted(started);
    const container = new FakeContainer(rig, started);
    container.init();
    container.call(400, 200);
    container.run();
    t.true(quotaOf(container) < 1000);
    rig.platform.listener.containerEnded(info.id);
    // Without a pod the group is gone with its container, and nothing is written.
    t.is(quotaOf(container) === 1000, isPod);
  }
  await rig.hook.stop();
});

test('nothing lowers a limit once a stop has begun, whatever mode is set', async (t) => {
  const [rig, container] = await learned();
  const stopped = rig.hook.stop();
  rig.hook.toggleKillSwitch();
  rig.hook.toggleKillSwitch();
  container.run();
  t.is(quotaOf(container), 1000);
  await stopped;
});

test('a reload that gives a function a CPU of its own counts in its warm containers', async (t) => {
  const [rig, container] = await learned();
  const next = structuredClone(rig.config) as Config;
  Object.assign(next.functions, { overrides: [{ match: '/guest/hello', cpuMillicores: 600 }] });
  rig.hook.reload(next);
  const connection = container.run();
  t.is(rig.hook.inspect().functions[0]?.userCpu, 600);
  container.answer(connection);
  await rig.hook.stop();
});

test('the audit log names the policy that decided, also a function’s own', async (t) => {
  const [rig, container] = await learned((config) =>
    Object.assign(config.functions, {
      overrides: [{ match: '/guest/hello', policy: 'random-in-range' }],
    }),
  );
  container.run();
  await rig.hook.stop();
  const text = readFileSync(join(rig.folder, 'audit.jsonl'), 'utf8');
  t.true(text.includes('"policy:random-in-range"'));
  t.false(text.includes('"policy:smallest-in-range"'));
});

test('a lender’s memory is protected up to its user limit if the kernel can', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container();
  container.cgroup.protection = 0;
  container.call(400, 200);
  t.is(container.cgroup.protection, mebibytes(256));
  rig.hook.toggleKillSwitch();
  t.is(container.cgroup.protection, 0);
  rig.hook.toggleKillSwitch();
  container.call(400, 200);
  t.is(container.cgroup.protection, mebibytes(256));
  await rig.hook.stop();
  t.is(container.cgroup.protection, 0);
  const { limits } = rig.hook.figures();
  t.is(limits.count('memory.low', 'raise', 'written'), 2);
  t.is(limits.count('memory.low', 'lower', 'written'), 2);
});

test('a function slower than its control arm is logged once and shown in every view', async (t) => {
  const [rig, container] = await learned((config) =>
    Object.assign(config.decision, { controlShare: 0.2 }),
  );
  for (let i = 0; i < 150; i++) {
    const connection = container.run();
    // Treated runs take 1.5 x as long: far beyond 5 %, and beyond chance with some 50 or more of
    // either.
    container.work(quotaOf(container) < 1000 ? 150 : 100, 200);
    container.answer(connection);
  }
  rig.advance(10_000);
  const { host, functions, events } = rig.hook.inspect();
  t.true(host.slowerThanControl);
  t.true(functions[0]?.slowerThanControl);
  t.true(((events as Record<string, number>).safeguard ?? 0) >= 1, JSON.stringify(events));
  t.is(
    rig.lines.filter((line) => line.message.includes('slower than their control arm')).length,
    1,
  );
  await rig.hook.stop();
});

test('limits that an update changed are the user’s from then on', async (t) => {
  const [rig, container] = await learned();
  container.run();
  t.true(quotaOf(container) < 1000);
  // `docker update` wrote the memory; the quota is the hook's still.
  const { cgroup, info } = container;
  Object.assign(cgroup.inForce, { memory: mebibytes(200) });
  Object.assign(cgroup.expected, { memory: mebibytes(200) });
  const user = { ...info.user, quota: 500 as Millicores, memory: mebibytes(200) };
  rig.platform.listener.containerUpdated?.({ ...info, user });
  t.deepEqual(cgroup.inForce, { shares: 128, quota: 500, memory: mebibytes(200) });
  rig.advance(20_000);
  t.deepEqual(cgroup.inForce, { shares: 128, quota: 500, memory: mebibytes(200) });
  t.is((await rig.hook.restore('test')).restored, 0);
  t.is(rig.hook.inspect().host.containers, 1);
  await rig.hook.stop();
});

test('an update of user limits takes back the protection of memory', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container({ quota: 1000 });
  const { cgroup, info } = container;
  cgroup.protection = 0;
  container.call(400, 200);
  t.is(cgroup.protection, mebibytes(256));
  const user = { ...info.user, quota: 500 as Millicores };
  rig.platform.listener.containerUpdated?.({ ...info, user });
  t.is(cgroup.protection, 0);
  await rig.hook.stop();
});

test('an update of a pod’s user limits writes none of the earlier ones', async (t) => {
  const rig = await new HookRig().start();
  const info = rig.info({ quota: 1000 });
  const pod = { uid: 'pod-1', user: info.user };
  rig.platform.listener.containerStarted({ ...info, pod });
  const { cgroup } = new FakeContainer(rig, info);
  const written = cgroup.writes.length;
  // What kubelet has written into the pod's cgroup.
  Object.assign(cgroup.inForce, { quota: 500 });
  Object.assign(cgroup.expected, { quota: 500 });
  const user = { ...info.user, quota: 500 as Millicores };
  rig.platform.listener.containerUpdated?.({ ...info, user, pod: { ...pod, user } });
  const after = cgroup.writes.slice(written);
  t.false(after.includes('quota=1000'), after.join());
  t.is(cgroup.inForce.quota, 500);
  await rig.hook.stop();
});
