import test from 'ava';
import { HookRig } from './hook-rig.js';

const counters = (rig: HookRig): Record<string, number> =>
  rig.hook.inspect().counters as Record<string, number>;
const ID = 'f'.repeat(32);

test('an activation whose /init fails is counted once, as failed, with its own id', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container({ quota: 1000 }, false);
  const connection = container.sendInit('/guest/broken', ID);
  rig.advance(70);
  container.answer(connection, 502);
  container.closed(connection);
  container.end();
  t.like(counters(rig), { started: 1, ended: 1, initFailed: 1, clean: 0, containerEnd: 0 });
  t.is(rig.hook.inspect().host.running, 0);
  t.like(rig.hook.inspect().functions[0], { name: '/guest/broken', activations: 1, containers: 0 });
  const explained = rig.hook.explain('/guest/broken');
  t.is(explained.length, 1);
  t.like(explained[0], {
    activation: ID,
    ended: 'init_failed',
    status: 502,
    durationMillis: 0,
    initMillis: 70,
    cold: true,
  });
  t.is(explained[0]?.clean, false);
  await rig.hook.stop();
});

test('an /init without an answer counts as failed when the container ends', async (t) => {
  const rig = await new HookRig().start();
  const cut = rig.container({}, false);
  cut.closed(cut.sendInit('/guest/broken'));
  const slow = rig.container({}, false);
  slow.sendInit('/guest/broken');
  rig.advance(1000);
  t.like(counters(rig), { started: 0, initFailed: 0 });
  cut.end();
  slow.end();
  t.like(counters(rig), { started: 2, ended: 2, initFailed: 2 });
  t.deepEqual(
    rig.hook.explain('/guest/broken').map(({ status }) => status),
    [0, 0],
  );
  await rig.hook.stop();
});

test('an /init that succeeds when it is sent again is not a failed one', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container({}, false);
  container.closed(container.sendInit('/guest/hello', ID), true);
  container.answer(container.sendInit('/guest/hello', ID));
  container.call(100, 100);
  container.end();
  t.like(counters(rig), { started: 1, ended: 1, clean: 1, initFailed: 0 });
  await rig.hook.stop();
});

test('a container that ends between /init and /run has no failed activation', async (t) => {
  const rig = await new HookRig().start();
  rig.container().end();
  t.like(counters(rig), { started: 0, initFailed: 0 });
  await rig.hook.stop();
});

test('a failed /init without identity counts for the host and shows in explain', async (t) => {
  const rig = await new HookRig().start();
  for (const status of [502, 500]) {
    const container = rig.container({ name: `wsk0_${status}_guest_ab` }, false);
    container.answer(container.sendInit(null, ID, 'a.b'), status);
    rig.advance(10);
    container.end();
  }
  t.like(counters(rig), { started: 2, ended: 2, initFailed: 2, unreadableHead: 2 });
  t.deepEqual(rig.hook.inspect().functions, []);
  t.deepEqual(rig.hook.explain('/guest/a.b'), []);
  t.like(rig.hook.failedInits('/guest/pkg/a.b'), {
    count: 2,
    status: 500,
    container: 'wsk0_500_guest_ab',
  });
  t.is(rig.hook.failedInits('/guest/ab'), null);
  t.is(rig.hook.failedInits('/other/a.b'), null);
  await rig.hook.stop();
});
