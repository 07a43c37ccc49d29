import test from 'ava';
import { mebibytes, millicores } from '../../../config/index.js';
import type { TapRequest } from '../../../openwhisk-plugin/host/ports/index.js';
import { type FakeContainer, HookRig } from './hook-rig.js';

/**
 * Quota mode (user 1000 millicores); the second call's range is over-provisioned: peak 200, so a
 * quota well below 1000.
 */
async function harvesting(): Promise<{
  rig: HookRig;
  container: ReturnType<HookRig['container']>;
}> {
  const rig = await new HookRig().start();
  const container = rig.container({ quota: 1000 });
  container.call(400, 200);
  return { rig, container };
}

const counters = (rig: HookRig): Record<string, number> =>
  rig.hook.inspect().counters as Record<string, number>;

test('the first activation has user limits, the next a lower quota until its answer', async (t) => {
  const { rig, container } = await harvesting();
  t.is(container.cgroup.inForce.quota, 1000);
  const connection = container.run();
  // FaaSRM: peak 200 of user 1000 is over-provisioned; the lower bound is max(peak + 50, peak /
  // .75) = 267, and a quota never throttles a short activation: 400 ms x .2 cores = 80
  // CPU-ms fit into one period of 100 ms, so quota >= 800.
  t.true(container.cgroup.inForce.quota < 1000, String(container.cgroup.inForce.quota));
  t.true(container.cgroup.inForce.quota >= 266, String(container.cgroup.inForce.quota));
  container.work(400, 200);
  container.answer(connection);
  t.is(container.cgroup.inForce.quota, 1000);
  t.like(counters(rig), { started: 2, ended: 2, clean: 2 });
  await rig.hook.stop();
});

test('a container’s FIN or RST ends the activation, which is not learned from', async (t) => {
  const { rig, container } = await harvesting();
  for (const reset of [false, true]) {
    const connection = container.run();
    rig.advance(100);
    container.closed(connection, reset);
    t.is(container.cgroup.inForce.quota, 1000);
    t.is(rig.hook.explain('/guest/hello')[0]?.clean, false);
  }
  t.like(counters(rig), { started: 3, ended: 3, clean: 1, closed: 1, reset: 1 });
  await rig.hook.stop();
});

test('a FIN after the answer ends nothing twice', async (t) => {
  const { rig, container } = await harvesting();
  const connection = container.call(100, 200);
  container.closed(connection);
  container.answer(connection);
  t.like(counters(rig), { started: 2, ended: 2, clean: 2, closed: 0 });
  await rig.hook.stop();
});

/** Gives the container half a core, with a tap that reports an open request again at a bind. */
function updatesOf(rig: HookRig, { info }: FakeContainer): () => void {
  const { packets, listener } = rig.platform;
  let open: TapRequest | null = null;
  const request = packets.request.bind(packets);
  packets.request = (head) => {
    open = head;
    request(head);
  };
  rig.platform.bind = () => open && request(open);
  const user = { ...info.user, quota: millicores(500) };
  return () => listener.containerUpdated?.({ ...info, user });
}

test('an activation whose container gets other user limits stays one activation', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container({ quota: 1000 });
  const update = updatesOf(rig, container);
  const connection = container.run();
  rig.advance(100);
  const { requests } = counters(rig);
  const decisions = structuredClone(rig.hook.figures().decisions.counts);
  update();
  t.like(counters(rig), { requests });
  t.deepEqual(rig.hook.figures().decisions.counts, decisions);
  t.is(container.cgroup.inForce.quota, 500);
  rig.advance(200);
  container.answer(connection);
  const [only, ...others] = rig.hook.explain('/guest/hello');
  t.deepEqual(others, []);
  t.like(only, {
    ended: 'answer',
    limitsChanged: true,
    cold: true,
    initMillis: 20,
    durationMillis: 300,
    enforced: false,
  });
  t.is(only?.cpu.user, 500);
  t.like(counters(rig), { started: 1, ended: 1, clean: 1, late: 0, containerEnd: 0 });
  const [fn] = rig.hook.inspect().functions;
  t.like(fn, { activations: 1, coldStarts: 1 });
  container.call(100, 200);
  t.like(rig.hook.explain('/guest/hello')[0], { limitsChanged: false, cold: false });
  await rig.hook.stop();
});

test('an init during which the user limits change has not failed', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container({ quota: 1000 }, false);
  const update = updatesOf(rig, container);
  const init = container.sendInit('/guest/hello');
  rig.advance(100);
  t.like(counters(rig), { boosts: 1 });
  update();
  t.like(counters(rig), { boosts: 1 });
  rig.advance(50);
  container.answer(init);
  t.deepEqual(rig.hook.explain('/guest/hello'), []);
  container.call(100, 200);
  t.like(rig.hook.explain('/guest/hello')[0], { cold: true, initMillis: 150 });
  t.like(counters(rig), { started: 1, ended: 1, clean: 1, initFailed: 0 });
  await rig.hook.stop();
});

test('the end of the container ends its activation', async (t) => {
  const { rig, container } = await harvesting();
  container.run();
  rig.advance(100);
  container.end();
  t.like(counters(rig), { started: 2, ended: 2, clean: 1, containerEnd: 1 });
  t.true(container.cgroup.closed);
  t.is(rig.platform.bound.size, 0);
  await rig.hook.stop();
});

test('an activation whose end was missed ends a second after its deadline', async (t) => {
  const { rig, container } = await harvesting();
  container.run({ limit: 3000 });
  rig.advance(3900);
  t.like(counters(rig), { ended: 1 });
  // 3000 + 1000 ms, and the check comes round every 100 ms.
  rig.advance(200);
  t.like(counters(rig), { ended: 2, deadline: 1 });
  t.is(container.cgroup.inForce.quota, 1000);
  await rig.hook.stop();
});

test('the next head on a connection ends the activation before it', async (t) => {
  const { rig, container } = await harvesting();
  const connection = container.run();
  rig.advance(100);
  const second = container.run({ connection });
  t.like(counters(rig), { started: 3, ended: 2, nextHead: 1 });
  container.work(100, 200);
  container.answer(second);
  t.like(counters(rig), { started: 3, ended: 3, clean: 2 });
  await rig.hook.stop();
});

test('concurrent activations of one container each end with their own answer', async (t) => {
  const { rig, container } = await harvesting();
  // Concurrency 4, one connection each, as OpenWhisk's Apache client opens them; the hook does not
  // know the limit.
  const connections = Array.from({ length: 4 }, () => {
    rig.advance(5);
    return container.run();
  });
  t.is(rig.hook.inspect().host.running, 4);
  rig.advance(300);
  for (const connection of connections.toReversed()) container.answer(connection);
  t.like(counters(rig), { started: 5, ended: 5, nextHead: 0, clean: 5 });
  t.true(rig.hook.inspect().functions[0]?.concurrent);
  const took = rig.hook.explain('/guest/hello').slice(0, 4);
  for (const { durationMillis } of took) t.true(durationMillis >= 300, String(durationMillis));
  t.is(container.cgroup.inForce.quota, 1000);
  await rig.hook.stop();
});

test('an activation without answer or FIN ends after its deadline beside others', async (t) => {
  const { rig, container } = await harvesting();
  container.run({ limit: 3000 });
  rig.advance(100);
  container.answer(container.run());
  t.like(counters(rig), { started: 3, ended: 2, clean: 2 });
  t.false(rig.hook.inspect().functions[0]?.concurrent);
  rig.advance(4000);
  t.like(counters(rig), { ended: 3, deadline: 1 });
  t.is(container.cgroup.inForce.quota, 1000);
  await rig.hook.stop();
});

test('a tap that lost packets ends what is in flight and gives user limits back', async (t) => {
  const { rig, container } = await harvesting();
  const elsewhere = rig.container({ quota: 1000, bridge: 'br-other' });
  container.run();
  const there = elsewhere.run();
  rig.platform.packets.lost('restarted', 'docker0', 'tcpdump ended');
  t.is(container.cgroup.inForce.quota, 1000);
  t.is(rig.hook.inspect().host.running, 1);
  rig.advance(100);
  elsewhere.answer(there);
  t.like(counters(rig), { tapLost: 1, tapRestarts: 1, clean: 2 });
  t.is(rig.lines.filter((line) => line.message.startsWith('tap lost')).length, 1);
  await rig.hook.stop();
});

test('a client that hangs up frees no grant while the container still works', async (t) => {
  // Its FIN goes to the container and is not seen: nothing reaches the hook until the container
  // answers or ends.
  const { rig, container } = await harvesting();
  container.run({ limit: 60_000 });
  const { quota } = container.cgroup.inForce;
  container.work(300, 150);
  t.is(container.cgroup.inForce.quota, quota);
  t.is(rig.hook.inspect().host.running, 1);
  await rig.hook.stop();
});

test('a start that reaches the hook later than 50 ms sets no limit', async (t) => {
  const { rig, container } = await harvesting();
  container.run({ late: 60 });
  t.is(container.cgroup.inForce.quota, 1000);
  t.like(counters(rig), { late: 1 });
  await rig.hook.stop();
});

test('an address belongs to its newest container, also if the old end comes late', async (t) => {
  const rig = await new HookRig().start();
  const old = rig.container({ quota: 1000, address: '172.17.0.9' });
  rig.advance(10);
  const young = rig.container({ quota: 1000, address: '172.17.0.9', name: 'wsk0_8_guest_other' });
  old.end();
  young.call(100, 200, { action: '/guest/other' });
  t.deepEqual(
    rig.hook.inspect().functions.map((fn) => [fn.name, fn.activations]),
    [['/guest/other', 1]],
  );
  await rig.hook.stop();
});

test('an unreadable head restores user limits, and the running activation continues', async (t) => {
  const { rig, container } = await harvesting();
  const first = container.run();
  container.unreadable();
  t.is(container.cgroup.inForce.quota, 1000);
  t.like(counters(rig), { unreadableHead: 1, nextHead: 0, started: 2 });
  container.answer(first);
  t.like(counters(rig), { ended: 2, clean: 2 });
  t.is(container.cgroup.inForce.quota, 1000);
  await rig.hook.stop();
});

test('a second function in one container is unknown, and never taken for the first', async (t) => {
  const { rig, container } = await harvesting();
  container.call(100, 900, { action: '/guest/another' });
  t.like(counters(rig), { unknownFunction: 1, started: 1 });
  t.deepEqual(
    rig.hook.inspect().functions.map((fn) => fn.name),
    ['/guest/hello'],
  );
  await rig.hook.stop();
});

test('names that give one container name give different profiles', async (t) => {
  // OpenWhisk strips characters: my-fn, myfn and my.fn all give wsk00_7_guest_myfn.
  const rig = await new HookRig().start();
  for (const action of ['/guest/my-fn', '/guest/myfn', '/guest/my.fn']) {
    rig.container({ name: 'wsk00_7_guest_myfn' }).call(100, 100, { action });
  }
  t.is(rig.hook.inspect().functions.length, 3);
  await rig.hook.stop();
});

test('time paused is not run time', async (t) => {
  const { rig, container } = await harvesting();
  const connection = container.run();
  container.work(100, 200);
  container.cgroup.usage.frozen = true;
  rig.platform.listener.containerPaused(container.info.id, true);
  rig.advance(5000);
  container.cgroup.usage.frozen = false;
  rig.platform.listener.containerPaused(container.info.id, false);
  container.work(100, 200);
  container.answer(connection);
  t.is(rig.hook.explain('/guest/hello')[0]?.durationMillis, 200);
  await rig.hook.stop();
});

test('a pause that only the freezer knows of is seen', async (t) => {
  // With `use-runc` OpenWhisk pauses without Docker, so Docker's API does not show it.
  const { rig, container } = await harvesting();
  container.run();
  container.cgroup.usage.frozen = true;
  rig.advance(200);
  t.like(rig.hook.inspect().containers[0], { phase: 'paused' });
  container.cgroup.usage.frozen = false;
  rig.advance(200);
  t.like(rig.hook.inspect().containers[0], { phase: 'running' });
  await rig.hook.stop();
});

test('a paused container is sampled as rarely as an idle one until it runs again', async (t) => {
  const { rig, container } = await harvesting();
  let samples = 0;
  const { cgroup } = container;
  const sample = cgroup.sample.bind(cgroup);
  cgroup.sample = (into) => {
    samples++;
    return sample(into);
  };
  cgroup.usage.frozen = true;
  rig.platform.listener.containerPaused(container.info.id, true);
  rig.advance(60_000);
  // Once in each round of the watch for drift, 5 s, and as long again until the next round begins;
  // ten times a second would be 600.
  t.true(samples >= 5 && samples <= 13, `${samples}`);
  // Resumes without an engine event: found by the drift check, or at the next sample once
  // an activation runs.
  cgroup.usage.frozen = false;
  rig.advance(10_100);
  t.like(rig.hook.inspect().containers[0], { phase: 'idle' });
  cgroup.usage.frozen = true;
  rig.platform.listener.containerPaused(container.info.id, true);
  rig.advance(100);
  cgroup.usage.frozen = false;
  container.run();
  rig.advance(100);
  t.like(rig.hook.inspect().containers[0], { phase: 'running' });
  await rig.hook.stop();
});

test('after a step of the wall clock the duration is monotonic and not learned from', async (t) => {
  const { rig, container } = await harvesting();
  const connection = container.run();
  container.work(200, 200);
  rig.platform.packets.anomaly('clock_step', 0);
  // The kernel's stamp of the answer is an hour ahead.
  rig.platform.packets.answer(
    connection,
    container.address,
    200,
    (rig.platform.time.wall() + 3.6e9) as never,
  );
  const [latest] = rig.hook.explain('/guest/hello');
  t.is(latest?.durationMillis, 200);
  t.is(latest?.clean, false);
  await rig.hook.stop();
});

test('twenty containers that end after one activation are reported once', async (t) => {
  const rig = await new HookRig().start();
  for (let i = 0; i < 25; i++) {
    const container = rig.container({ memory: mebibytes(256) });
    container.call(20, 100);
    container.end();
  }
  t.is(rig.lines.filter((line) => 'warm_reuse_ratio' in line.fields).length, 1);
  await rig.hook.stop();
});

/** A function far below the mean of its host, so that its weight is raised, beside a long one. */
async function shortBesideLong(): Promise<{ rig: HookRig; short: FakeContainer }> {
  const rig = await new HookRig().start();
  const long = rig.container();
  const short = rig.container();
  for (let call = 0; call < 3; call++) {
    long.call(2000, 1000, { action: '/guest/long' });
    short.call(10, 1000, { action: '/guest/short' });
    rig.advance(500);
  }
  return { rig, short };
}

const userShares = (container: FakeContainer): number => container.info.user.shares;
const isRaised = (container: FakeContainer): boolean =>
  container.cgroup.inForce.shares > userShares(container);

test('a container that works on after its answer loses its raised weight', async (t) => {
  const { rig, short } = await shortBesideLong();
  short.call(10, 1000, { action: '/guest/short' });
  // As a runtime that collects garbage.
  short.work(15, 1000);
  rig.advance(1000);
  t.true(isRaised(short));
  short.call(10, 1000, { action: '/guest/short' });
  // Two sampling periods of 100 ms at most, for the answer comes between two samples.
  short.work(200, 1000);
  t.false(isRaised(short));
  await rig.hook.stop();
});
