import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { mebibytes } from '../../../config/index.js';
import { type FakeContainer, HookRig } from './hook-rig.js';

const event = fc.record({
  container: fc.integer({ min: 0, max: 2 }),
  what: fc.constantFrom(
    'run',
    'run',
    'run',
    'answer',
    'answer',
    'answer',
    'fail',
    'fin',
    'rst',
    'unreadable',
    'die',
    'pause',
    'lost',
    'wait',
    'wait',
    'late',
    'throttle',
    'oom',
    'kill',
    'reuse',
  ),
  pick: fc.nat({ max: 7 }),
});

testProp(
  'after any events each start ends once, and an idle container has its user limits',
  [fc.array(event, { minLength: 20, maxLength: 120 }), fc.constantFrom(0, 1000)],
  async (t, events, quota) => {
    const rig = await new HookRig().start(null);
    const containers: FakeContainer[] = [0, 1, 2].map((n) =>
      rig.container({ quota, address: `172.17.0.${n + 2}` }),
    );
    const open: number[][] = [[], [], []];
    let killed = false;
    for (const { container: n, what, pick } of events) {
      const container = containers[n]!;
      const connections = open[n]!;
      const connection = connections[pick % Math.max(1, connections.length)] ?? 999_999;
      const action = `/guest/f${n}`;
      if (what === 'run') connections.push(container.run({ action, limit: 5000 }));
      else if (what === 'late') connections.push(container.run({ action, late: 80, limit: 5000 }));
      else if (what === 'answer') container.answer(connection);
      else if (what === 'fail') container.answer(connection, 502);
      else if (what === 'fin' || what === 'rst') container.closed(connection, what === 'rst');
      else if (what === 'unreadable') container.unreadable();
      else if (what === 'wait') container.work(150, 100 * pick);
      else if (what === 'lost') {
        rig.platform.packets.lost('restarted', null, 'test');
        if (pick > 3) rig.platform.packets.listening(null);
      } else if (what === 'oom') rig.platform.listener.containerOom(container.info.id);
      else if (what === 'kill') {
        rig.hook.toggleKillSwitch();
        killed = !killed;
      } else if (what === 'throttle') {
        container.cgroup.usage.periods += 2;
        container.cgroup.usage.throttledPeriods += 1;
      } else if (what === 'pause') {
        container.cgroup.usage.frozen = !container.cgroup.usage.frozen;
        rig.platform.listener.containerPaused(container.info.id, container.cgroup.usage.frozen);
      } else {
        // The address goes to the next container, before or after the engine announced the end.
        if (what === 'die') container.end();
        const next = rig.container({ quota, address: container.info.address! });
        if (what === 'reuse') container.end();
        containers[n] = next;
        open[n] = [];
      }
      const { started, ended } = rig.hook.inspect().counters as { started: number; ended: number };
      t.is(rig.hook.inspect().host.running, started - ended);
      for (const view of rig.hook.inspect().containers as {
        id: string;
        running: number;
        limits: { quota: number; memory: number };
      }[]) {
        t.true(view.running >= 0);
        if (view.running > 0) continue;
        t.is(view.limits.quota, quota);
        t.true(view.limits.memory >= mebibytes(256));
      }
    }
    // Time limits of 5 s and a second more: nothing is left.
    rig.advance(6200);
    const { started, ended } = rig.hook.inspect().counters as { started: number; ended: number };
    t.is(ended, started);
    await rig.hook.stop();
    for (const { cgroup } of containers) {
      t.is(cgroup.inForce.quota, quota);
      t.is(cgroup.inForce.shares, 128);
    }
  },
  { numRuns: 60 },
);

test('a prewarmed container has user limits until its first /run names the function', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container({ name: 'wsk00_3_prewarm_nodejs20', quota: 1000 }, false);
  rig.advance(10_100);
  t.deepEqual(container.cgroup.inForce, {
    shares: 128,
    quota: 1000,
    memory: mebibytes(256) as number,
  });
  t.deepEqual(rig.hook.inspect().functions, []);
  container.call(100, 100, { action: '/guest/my pkg/named' });
  t.is(rig.hook.inspect().functions[0]?.name, '/guest/my pkg/named');
  await rig.hook.stop();
});

test('the same name made again with other limits starts without the old history', async (t) => {
  // Deleting and creating an action again restarts its versions and may change its limits.
  const rig = await new HookRig().start();
  const old = rig.container({ quota: 1000, memory: mebibytes(256) });
  old.call(4000, 200);
  old.end();
  const young = rig.container({ quota: 1000, memory: mebibytes(512) });
  const connection = young.run({ version: '0.0.2' });
  t.is(young.cgroup.inForce.quota, 1000);
  young.answer(connection);
  t.is(rig.hook.explain('/guest/hello')[0]?.cpu.rangeReason, 'first_activation');
  await rig.hook.stop();
});

test('functions are learned across containers, not in each', async (t) => {
  // 50 containers of 200 ms each are one profile with 50 samples.
  const rig = await new HookRig().start();
  for (let i = 0; i < 50; i++) {
    const container = rig.container({ quota: 1000 });
    container.call(200, 200);
    container.end();
  }
  t.deepEqual(
    rig.hook.inspect().functions.map((fn) => [fn.activations, fn.containers]),
    [[50, 0]],
  );
  await rig.hook.stop();
});
