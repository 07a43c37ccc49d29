import test from 'ava';
import { HookRig } from './hook-rig.js';

test('sfs lowers the weight after the slice is used, under a bounded policy too', async (t) => {
  for (const overrides of [[], [{ match: '/guest/*', bounds: { cpuMillicores: { max: 4000 } } }]]) {
    const rig = new HookRig((config) => {
      Object.assign(config.decision.policy, { weight: 'sfs' });
      Object.assign(config.functions, { overrides });
    });
    await rig.start();
    const container = rig.container();
    const connection = container.run();
    // 16 x 1024 shares within the first slice of 20 ms of CPU; samples every 100 ms.
    container.work(100, 100);
    t.is(container.cgroup.inForce.shares, 16_384);
    container.work(200, 100);
    t.is(container.cgroup.inForce.shares, 128);
    container.answer(connection);
    container.run();
    t.is(container.cgroup.inForce.shares, 16_384);
    await rig.hook.stop();
  }
});

test('short-first has no second thoughts', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container();
  container.run();
  const before = container.cgroup.writes.length;
  container.work(1000, 1000);
  t.is(container.cgroup.writes.length, before);
  await rig.hook.stop();
});

test('libra learns from the length of the bodies that the tap saw', async (t) => {
  const rig = new HookRig((config) => Object.assign(config.decision.policy, { quota: 'libra' }));
  await rig.start();
  const container = rig.container({ quota: 1000 });
  // 100 bytes: 0.1 core for 0.4 s; 400 bytes: 0.4 cores for 1.6 s.
  for (let i = 0; i < 24; i++) {
    const payload = i % 2 === 0 ? 100 : 400;
    container.call(payload * 4, payload, { payload });
  }
  container.run({ payload: 100 });
  // max(100 + 50, 100 / .75) = 150, where the recent peak of 400 alone would mean 533.
  t.true(Math.abs(container.cgroup.inForce.quota - 150) <= 1, `${container.cgroup.inForce.quota}`);
  await rig.hook.stop();
});
