import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { tapText } from '../../../broker/services/index.js';
import { mebibytes } from '../../../config/index.js';
import { FakeContainer, HookRig } from './hook-rig.js';

/** All limits of the user, as the rig's containers have them. */
const user = (quota: number) => ({ shares: 128, quota, memory: mebibytes(256) as number });

/** A function whose weight is lowered: 4 s of CPU a call, against a reference of 100 ms. */
async function weighed(): Promise<{ rig: HookRig; long: FakeContainer }> {
  const rig = await new HookRig(({ decision }) => {
    decision.policy.weight = 'short-first';
    decision.weight.referenceMs = 100;
  }).start();
  const long = rig.container({ name: 'wsk0_1_guest_long' });
  long.call(4000, 1000, { action: '/guest/long' });
  return { rig, long };
}

test('a lost tap restores the user weights of idle and of running containers', async (t) => {
  const { rig, long } = await weighed();
  long.run({ action: '/guest/long' });
  // 128 x max(100 / 4000, UNPROVEN_FLOOR of 1/8).
  t.is(long.cgroup.inForce.shares, 16);
  const idle = rig.container({ name: 'wsk0_2_guest_long' });
  idle.call(4000, 1000, { action: '/guest/long' });
  t.is(idle.cgroup.inForce.shares, 16);
  rig.platform.packets.lost('restarted', 'docker0', 'tcpdump ended (SIGKILL)');
  t.deepEqual(long.cgroup.inForce, user(0));
  t.deepEqual(idle.cgroup.inForce, user(0));
  await rig.hook.stop();
});

test('missed closes are counted and leave limits, activations and the tap', async (t) => {
  const { rig, long } = await weighed();
  const connection = long.run({ action: '/guest/long' });
  rig.platform.packets.lost('closes', 'docker0', 'the kernel dropped 3 packets');
  t.is(long.cgroup.inForce.shares, 16);
  const { containers, counters, host } = rig.hook.inspect();
  t.is(containers[0]?.running, 1);
  t.is(host.tap[0]?.state, 'listening');
  t.is((counters as Record<string, number>).tapCloses, 1);
  long.answer(connection);
  await rig.hook.stop();
});

test('activations and containers that start while the tap is lost have user limits', async (t) => {
  const { rig, long } = await weighed();
  const { packets } = rig.platform;
  packets.lost('unavailable', 'docker0', 'no permission');
  // Packets of a moment before may still be read.
  const connection = long.run({ action: '/guest/long' });
  t.deepEqual(long.cgroup.inForce, user(0));
  t.is(rig.hook.inspect().containers[0]?.running, 1);
  const fresh = rig.container({ quota: 1000 }, false);
  t.deepEqual(fresh.cgroup.writes, []);
  rig.advance(300);
  long.answer(connection);
  packets.listening('docker0');
  t.deepEqual(long.cgroup.inForce, user(0), 'nothing is lowered again before an activation starts');
  long.run({ action: '/guest/long' });
  t.is(long.cgroup.inForce.shares, 16);
  const boosted = rig.container({}, false);
  // 4096 x 128 again, but no more than the kernel takes.
  t.is(boosted.cgroup.inForce.shares, 262_144);
  await rig.hook.stop();
});

test('beside a container on an interface that is not tapped yet weights stay near', async (t) => {
  // 10 ms of CPU a call, against a reference of 10 s: (10 / .01)^2 times its weight, within the
  // range, and at most the kernel's greatest.
  const rig = new HookRig(({ decision }) => {
    decision.weight.referenceMs = 10_000;
  });
  const { platform } = rig;
  platform.listens = false;
  await rig.start();
  platform.packets.listening('docker0');
  const short = rig.container();
  const shares = (): number => {
    short.call(10, 1000);
    short.run();
    return short.cgroup.inForce.shares;
  };
  t.is(shares(), 262_144);
  rig.container({ name: 'wsk0_2_prewarm_nodejs18', bridge: 'br-other' }, false);
  t.is(short.cgroup.inForce.shares, 128 * 16);
  t.is(shares(), 128 * 16);
  platform.packets.listening('br-other');
  t.is(shares(), 262_144);
  await rig.hook.stop();
});

test('an activation seen before the engine announced its container gets limits', async (t) => {
  const { rig } = await weighed();
  const fast = new FakeContainer(rig, rig.info({ name: 'wsk0_3_guest_long' }));
  // What the tap has seen of an address it delivers when the address becomes a container's.
  rig.platform.bind = (address) => {
    if (address === fast.address) fast.run({ action: '/guest/long' });
  };
  rig.platform.listener.containerStarted(fast.info);
  t.like(rig.hook.inspect().counters, { started: 2 });
  t.is(fast.cgroup.inForce.shares, 16);
  await rig.hook.stop();
});

test('an unreadable head restores the user’s weight, quota and memory', async (t) => {
  const { rig, long } = await weighed();
  // The weight stays from one activation of a function to the next.
  long.call(4000, 1000, { action: '/guest/long' });
  t.is(long.cgroup.inForce.shares, 16);
  long.unreadable();
  t.deepEqual(long.cgroup.inForce, user(0));
  await rig.hook.stop();
});

test('beside a raised weight a late start and an unreadable head wait no longer', async (t) => {
  const { rig, long } = await weighed();
  // 10 ms of CPU a call, against a reference of 100 ms: 128 x 100 / 10.
  const short = rig.container({ name: 'wsk0_2_guest_short' });
  short.call(10, 1000, { action: '/guest/short' });
  short.run({ action: '/guest/short' });
  const { shares } = short.cgroup.inForce;
  t.true(shares > 128 * 8);
  // Of equal own weights each would have half of the CPU.
  const late = long.run({ action: '/guest/long', late: 100 });
  t.deepEqual(long.cgroup.inForce, { ...user(0), shares });
  long.answer(late);
  long.unreadable();
  t.deepEqual(long.cgroup.inForce, { ...user(0), shares });
  rig.hook.toggleKillSwitch();
  t.deepEqual(long.cgroup.inForce, user(0));
  await rig.hook.stop();
});

test('a boost ends when the tap is lost', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container({ quota: 500 }, false);
  t.is(container.cgroup.inForce.shares, 262_144);
  rig.platform.packets.lost('dropped', 'docker0', 'the kernel dropped 3 packets');
  t.deepEqual(container.cgroup.inForce, user(500));
  await rig.hook.stop();
});

test('a tap that never listens lets nothing be written', async (t) => {
  const rig = new HookRig();
  rig.platform.listens = false;
  await rig.start();
  const container = rig.container({ quota: 1000 });
  container.call(4000, 200);
  container.call(4000, 200);
  t.deepEqual(container.cgroup.writes, []);
  t.like(rig.hook.inspect().host.tap, [{ interface: 'docker0', state: 'starting', cause: '' }]);
  await rig.hook.stop();
});

test('the loss of one bridge leaves the containers of another as they are', async (t) => {
  const { rig, long } = await weighed();
  const { platform } = rig;
  const other = { interfaceName: 'br-other', networkName: 'other', gateway: '172.18.0.1' };
  platform.listener.bridgesChanged([...platform.bridges, other]);
  const elsewhere = rig.container({
    name: 'wsk0_9_guest_long',
    address: '172.18.0.9',
    bridge: 'br-other',
  });
  elsewhere.call(4000, 1000, { action: '/guest/long' });
  platform.packets.lost('restarted', 'docker0', 'tcpdump ended');
  t.is(long.cgroup.inForce.shares, 128);
  t.is(elsewhere.cgroup.inForce.shares, 16);
  // A bridge that the engine does not name any more is not listened on any more.
  platform.listener.bridgesChanged([platform.bridges[0]!]);
  t.is(elsewhere.cgroup.inForce.shares, 128);
  t.deepEqual(
    rig.hook.inspect().host.tap.map((each) => each.interface),
    ['docker0'],
  );
  await rig.hook.stop();
});

test('the hook shows which interface is lost, why, and since when', async (t) => {
  const { rig } = await weighed();
  const { packets } = rig.platform;
  const [listening] = rig.hook.inspect().host.tap;
  t.deepEqual(listening, { interface: 'docker0', state: 'listening', cause: '', since: null });
  t.is(tapText(listening!), 'tap listens on docker0');
  const at = Math.round(rig.platform.time.wall() / 1000);
  packets.lost('restarted', 'docker0', 'tcpdump ended (SIGKILL)');
  rig.advance(2000);
  packets.lost('unavailable', 'docker0', 'tcpdump ended (code 1): docker0: no permission');
  const [lost] = rig.hook.inspect().host.tap;
  // The newest cause, and the time of the first loss.
  t.is(
    tapText(lost!),
    'tap lost on docker0: tcpdump ended (code 1): docker0: no permission; ' +
      `user limits in force since ${new Date(at).toISOString()}`,
  );
  packets.listening('docker0');
  t.deepEqual(rig.hook.inspect().host.tap, [listening]);
  await rig.hook.stop();
});

test('each limit that a loss of the tap restores is in the audit log', async (t) => {
  const { rig, long } = await weighed();
  long.run({ action: '/guest/long' });
  const quota = rig.container({ quota: 1000 });
  quota.call(4000, 200);
  quota.run();
  t.true(quota.cgroup.inForce.quota < 1000);
  rig.platform.packets.lost('restarted', null, 'tcpdump ended');
  await rig.hook.stop();
  const records = readFileSync(join(rig.folder, 'audit.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((record) => record.why === 'tap_lost');
  t.true(records.every((record) => record.who === 'restore' && record.result === 'written'));
  const restored = records.map(({ container, resource, new: now }) => [container, resource, now]);
  t.true(
    restored.some(
      ([id, resource, now]) => id === long.info.id && resource === 'cpu.shares' && now === 128,
    ),
  );
  t.true(
    restored.some(
      ([id, resource, now]) => id === quota.info.id && resource === 'cpu.quota' && now === 1000,
    ),
  );
});

test('memory that a loan has in use when the tap is lost goes back once it is free', async (t) => {
  const rig = await new HookRig((config) =>
    Object.assign(config.decision.memory, { invokerMemoryMiB: 2048 }),
  ).start();
  rig.advance(1100);
  const first = rig.container();
  first.run();
  rig.platform.listener.containerOom(first.info.id);
  first.end();
  const borrower = rig.container();
  const connection = borrower.run();
  t.true(borrower.cgroup.inForce.memory > mebibytes(256), 'a loan was given');
  borrower.cgroup.usage.workingSet = mebibytes(300);
  rig.platform.packets.lost('restarted', 'docker0', 'tcpdump ended');
  await new Promise((resolve) => setImmediate(resolve));
  // Taking it now would kill.
  t.true(borrower.cgroup.inForce.memory > mebibytes(256));
  borrower.answer(connection);
  borrower.cgroup.usage.workingSet = mebibytes(40);
  rig.advance(11_000);
  await new Promise((resolve) => setImmediate(resolve));
  t.is(borrower.cgroup.inForce.memory, mebibytes(256));
  await rig.hook.stop();
});

const BRIDGES = ['docker0', 'br-other'] as const;
const event = fc.record({
  container: fc.nat({ max: 3 }),
  what: fc.constantFrom(
    'run',
    'run',
    'answer',
    'answer',
    'fail',
    'work',
    'work',
    'lost',
    'unavailable',
    'dropped',
    'lost everywhere',
    'listen',
    'listen',
    'start',
    'unreadable',
    'kill',
    'mode',
    'drift',
    'oom',
    'late',
  ),
  pick: fc.nat({ max: 9 }),
});

testProp(
  'from any loss of its tap until it listens again a container has its user limits',
  [fc.array(event, { minLength: 10, maxLength: 80 })],
  async (t, events) => {
    const rig = await new HookRig((config) =>
      Object.assign(config.decision.weight, { referenceMs: 100 }),
    ).start(null);
    const { platform } = rig;
    const { packets } = platform;
    const bridge = (name: string, n: number) => ({
      interfaceName: name,
      networkName: name,
      gateway: `172.1${7 + n}.0.1`,
    });
    platform.listener.bridgesChanged(BRIDGES.map(bridge));
    // Quota mode and weight mode on each bridge.
    const make = (n: number): FakeContainer =>
      rig.container(
        { quota: n < 2 ? 1000 : 0, bridge: BRIDGES[n % 2]!, name: `wsk0_${n}_guest_f${n}` },
        false,
      );
    const containers = [0, 1, 2, 3].map(make);
    const open: number[][] = [[], [], [], []];
    const listens = new Map<string, boolean>(BRIDGES.map((name) => [name, true]));
    for (const { container: n, what, pick } of events) {
      const container = containers[n]!;
      const action = `/guest/f${n}`;
      const name = BRIDGES[pick % 2]!;
      const connection = open[n]!.shift() ?? 999_999;
      if (what === 'run') open[n]!.push(container.run({ action }));
      else if (what === 'late') open[n]!.push(container.run({ action, late: 80 }));
      else if (what === 'answer' || what === 'fail')
        container.answer(connection, what === 'fail' ? 502 : 200);
      else if (what === 'work') container.work(400, 100 * pick);
      else if (what === 'listen') {
        packets.listening(name);
        listens.set(name, true);
      } else if (what === 'lost everywhere') {
        packets.lost('restarted', null, 'all');
        for (const each of BRIDGES) listens.set(each, false);
      } else if (what === 'lost' || what === 'unavailable' || what === 'dropped') {
        packets.lost(what === 'lost' ? 'restarted' : what, name, 'a cause');
        listens.set(name, false);
      } else if (what === 'start') {
        container.end();
        containers[n] = make(n);
        open[n] = [];
      } else if (what === 'unreadable') container.unreadable();
      else if (what === 'kill') rig.hook.toggleKillSwitch();
      else if (what === 'mode') {
        const next = structuredClone(rig.config);
        Object.assign(next, { mode: pick < 5 ? 'observe' : 'enforce' });
        rig.hook.reload(next);
      } else if (what === 'drift') rig.advance(3000);
      else platform.listener.containerOom(container.info.id);
      await new Promise((resolve) => setImmediate(resolve));
      for (const [i, each] of containers.entries()) {
        if (listens.get(BRIDGES[i % 2]!)) continue;
        t.deepEqual(each.cgroup.inForce, user(i < 2 ? 1000 : 0), `${what} on ${i}`);
      }
    }
    await rig.hook.stop();
    for (const [i, each] of containers.entries())
      t.deepEqual(each.cgroup.inForce, user(i < 2 ? 1000 : 0));
  },
  { numRuns: 100 },
);
