import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { Config } from '../../../config/index.js';
import type { RunningHook } from '../../../openwhisk-plugin/daemon/run-hook.js';
import { until } from '../../support/gleaner.js';
import { docker, dockerAndTap, missing } from '../../support/real-parts.js';
import { allowed } from '../../support/slowness.js';
import { action, counters, groupOf, together, userShares, watched } from './real-containers.js';
import { realHookConfig, startRealHook } from './real-hook.js';

/**
 * The hook on real parts: dockerd, tcpdump, cgroups, and containers made as OpenWhisk makes them.
 */
const kernel = (id: string) => {
  const { quota, shares } = groupOf(id).read();
  return { quota, shares };
};

/** The hook may read the packets after the emulator has its answer. Tests say what is missing. */
const ends = (hook: RunningHook, count: number): Promise<void> =>
  until(() => counters(hook).ended! >= count, 10_000, `${count} ends`).catch(() => undefined);

test.serial(
  'a quota is lowered at /run, in force in the cgroup, and the user’s again after the answer',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    t.timeout(allowed(120_000));
    await together(t, 'wskglhka0', {}, async (emulator, hook) => {
      const io = action('io', { cpus: 1 });
      const sleepMs = allowed(500);
      const first = await emulator.invoke(io, { sleepMs });
      t.true(first.ok);
      const id = docker('inspect', '--format', '{{.Id}}', first.containerName as string);
      t.is(kernel(id).quota, 100_000);
      // An activation that comes while logs of the last one are collected gets a second container,
      // and on a busy machine a start may reach the hook too late to
      // set a limit: then the next one shows it.
      let lowest = 100_000;
      let calls = 1;
      for (; lowest === 100_000 && calls < 5; calls++) {
        await sleep(1500);
        const { result, seen } = await watched(id, emulator.invoke(io, { sleepMs }));
        const quotas = new Set(seen.map(({ quota }) => quota));
        t.true(result.ok);
        lowest = Math.min(...[...quotas].filter((quota) => quota > 0));
        const lag = JSON.stringify(counters(hook).lagMicros);
        t.log(`quotas in force: ${[...quotas].join(', ')} us; lag ${lag}`);
      }
      t.true(lowest < 100_000);
      await ends(hook, calls);
      t.is(kernel(id).quota, 100_000);
      t.like(counters(hook), {
        started: calls,
        ended: calls,
        clean: calls,
        unknownFunction: 0,
        unreadableHead: 0,
      });
      const [latest] = hook.explain('/guest/io');
      t.true(
        latest!.durationMillis >= sleepMs && latest!.durationMillis < sleepMs + allowed(1000),
        String(latest!.durationMillis),
      );
    });
  },
);

test.serial(
  'thirty short activations are all seen, and a stop leaves every limit as inspect says',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    t.timeout(allowed(120_000));
    let ids: string[] = [];
    await together(t, 'wskglhkb0', {}, async (emulator, hook) => {
      for (let i = 0; i < 15; i++) {
        await Promise.all([
          emulator.invoke(action('noop'), {}),
          emulator.invoke(action('cpu', { memoryMb: 128 }), { cpuMs: 30 }),
        ]);
      }
      await ends(hook, 30);
      const seen = counters(hook);
      t.log(`lag ${JSON.stringify(seen.lagMicros)}, written ${seen.limitsWritten}`);
      t.like(seen, { started: 30, ended: 30, clean: 30, tapDrops: 0 });
      ids = (hook.inspect().containers as { id: string }[]).map((container) => container.id);
      t.true(ids.length >= 2);
      await hook.stop();
      for (const id of ids) {
        t.deepEqual(kernel(id), { quota: -1, shares: userShares(id) });
      }
    });
  },
);

test.serial('a function that needs more CPU than its user’s gets more, and uses it', async (t) => {
  if (missing(t, dockerAndTap)) return;
  t.timeout(allowed(120_000));
  const raise = (config: Config): void =>
    void Object.assign(config.decision.policy, { quota: 'largest-in-range' });
  await together(
    t,
    'wskglhki0',
    {},
    async (emulator, hook) => {
      // A fifth of a core, which a container gets on a busy machine, too.
      const narrow = action('cpu', { cpus: 0.2 });
      const payload = { cpuMs: 200 };
      const first = await emulator.invoke(narrow, payload);
      const id = docker('inspect', '--format', '{{.Id}}', first.containerName as string);
      const used = (): number =>
        hook.inspect({ function: '/guest/cpu' }).functions[0]!.acceleratedCpuSeconds;
      await ends(hook, 1);
      t.is(used(), 0);
      let highest = 0;
      for (let calls = 1; used() === 0 && calls < 6; calls++) {
        await sleep(1500);
        const { result, seen } = await watched(id, emulator.invoke(narrow, payload));
        t.true(result.ok);
        highest = Math.max(highest, ...seen.map(({ quota }) => quota));
        await ends(hook, calls + 1);
      }
      t.log(`highest quota ${highest} us, ${used()} core-seconds above the user's limit`);
      t.true(highest > 20_000);
      t.true(used() > 0);
      t.is(kernel(id).quota, 20_000);
    },
    raise,
  );
});

test.serial('a failing, a killed and a timed-out activation each end once', async (t) => {
  if (missing(t, dockerAndTap)) return;
  t.timeout(allowed(120_000));
  await together(t, 'wskglhkc0', { oomPolls: allowed(400) }, async (emulator, hook) => {
    t.is((await emulator.invoke(action('fail'), {})).kind, 'developer error');
    const killed = await emulator.invoke(action('memory', { memoryMb: 128 }), { megabytes: 300 });
    t.is(killed.kind, 'oom', JSON.stringify(killed));
    // The limit holds for `/init`, too.
    const slow = action('io', { name: 'slow', timeoutMs: allowed(300) });
    t.is((await emulator.invoke(slow, { sleepMs: allowed(3000) })).kind, 'timeout');
    await ends(hook, 3);
    const seen = counters(hook);
    const { closed, reset, containerEnd, oomUser } = seen;
    t.log(JSON.stringify({ closed, reset, containerEnd, oomUser }));
    t.like(seen, { started: 3, ended: 3 });
    t.is(hook.inspect().host.running, 0);
    t.is(seen.oomUser, 1);
    t.is(seen.oomHarvest, 0);
  });
});

test.serial(
  'a hook that starts after a crash gives every container what inspect says, from the engine alone',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    t.timeout(allowed(120_000));
    await together(t, 'wskglhkd0', {}, async (emulator, hook) => {
      const first = await emulator.invoke(action('noop', { cpus: 1 }), {});
      const id = docker('inspect', '--format', '{{.Id}}', first.containerName as string);
      await hook.stop();
      // What a hook killed with -9 in the middle of a run leaves behind.
      const group = groupOf(id);
      const before = group.read();
      t.is(before.quota, 100_000);
      group.write(20_000, 16 * before.shares);
      const begun = performance.now();
      const next = await startRealHook(t, realHookConfig('wskglhkd0'));
      const took = performance.now() - begun;
      const restored = kernel(id);
      await next.stop();
      t.deepEqual(restored, { quota: 100_000, shares: userShares(id) });
      t.log(`restored ${took.toFixed(0)} ms after the start`);
      // What is promised: user limits within a second or two of a crash.
      t.true(took < allowed(2000), `${took} ms`);
    });
  },
);
