import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { ActionBody } from '../../../simulator/invoker-emulator/images/actions.js';
import {
  type Action,
  actionSource,
  ensureActionImage,
  InvokerEmulator,
} from '../../../simulator/invoker-emulator/index.js';
import type { InvokerOptions } from '../../../simulator/invoker-emulator/invoker-emulator.js';
import { docker, dockerAlone, missing } from '../../support/real-parts.js';
import { allowed } from '../../support/slowness.js';

/** Other work shares the machine: what must come is waited for, not slept for. */
async function until(come: () => boolean): Promise<void> {
  for (let i = 0; i < allowed(600) && !come(); i++) await sleep(25);
}
const action = (body: ActionBody, more: Partial<Action> = {}): Action => ({
  namespace: 'guest',
  name: body,
  version: '0.0.1',
  ...actionSource(body),
  memoryMb: 128,
  ...more,
});

async function withEmulator(
  prefix: string,
  options: Partial<InvokerOptions>,
  body: (emulator: InvokerEmulator) => Promise<void>,
): Promise<void> {
  const image = await ensureActionImage();
  const emulator = new InvokerEmulator({ image, prefix, userMemoryMb: 2048, ...options });
  try {
    await emulator.start();
    await body(emulator);
  } finally {
    await emulator.stop();
  }
}

test.serial('Each action body ends as its name says', async (t) => {
  if (missing(t, dockerAlone)) return;
  t.timeout(allowed(120_000));
  await withEmulator('wskgldbla0', { oomPolls: allowed(400) }, async (emulator) => {
    const outcome = async (
      body: ActionBody,
      payload: unknown,
      more: Partial<Action> = {},
    ): Promise<string> => (await emulator.invoke(action(body, more), payload)).kind;
    t.is(await outcome('noop', {}), 'success');
    t.is(await outcome('io', { sleepMs: 20 }), 'success');
    t.is(await outcome('mixed', { cpuMs: 10, sleepMs: 10, megabytes: 8 }), 'success');
    t.is(await outcome('memory', { megabytes: 30 }), 'success');
    t.is(await outcome('appError', {}), 'application error');
    t.is(await outcome('fail', {}), 'developer error');
    t.is(await outcome('io', { sleepMs: 3000 }, { name: 'slow', timeoutMs: 300 }), 'timeout');
    // 300 MB in a container of 128 MB. On cgroup v2 containerd may lose the event, so that the
    // engine never learns of it (https://github.com/containerd/containerd/issues/8893).
    const tries = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 4 : 1;
    const ends: string[] = [];
    for (let i = 0; i < tries && !ends.includes('oom'); i++)
      ends.push(await outcome('memory', { megabytes: 300 }));
    t.is(ends.at(-1), 'oom', ends.join(', '));
    const child = await emulator.invoke(action('memory'), { megabytes: 300, inChild: true });
    t.is(child.kind, 'success', 'an OOM kill of a child leaves the action alive');
    t.like(child.result, { child: { signal: 'SIGKILL' } });
    // A burn is of the process's account, to which V8's own threads (compiler, collector) add: up
    // to a third of so short a burn. So 60 ms of CPU on one thread take at least 40 ms, and split
    // over two threads of two cores at least 20.
    const cpu = await emulator.invoke(action('cpu'), { cpuMs: 60 });
    t.is(cpu.kind, 'success');
    t.true(cpu.runMs >= 40, `a burn of 60 ms took ${cpu.runMs} ms`);
    const parallel = await emulator.invoke(action('parallel'), { cpuMs: 60, workers: 2 });
    t.true(parallel.runMs >= 20, `a burn of 60 ms on two threads took ${parallel.runMs} ms`);
    t.is(await outcome('parallel', { cpuMs: 120, workers: 2, processes: true }), 'success');
  });
});

/**
 * CPU time of a container, ms, from the kernel: cgroup v1 or v2, cgroupfs or systemd driver; null
 * if none of them is there.
 */
function cpuMsOf(name: string): number | null {
  const id = docker('inspect', '--format', '{{.Id}}', name);
  for (const [path, pattern, perMs] of [
    [`/sys/fs/cgroup/cpuacct/docker/${id}/cpuacct.usage`, /^(\d+)/, 1e6],
    [`/sys/fs/cgroup/cpuacct/system.slice/docker-${id}.scope/cpuacct.usage`, /^(\d+)/, 1e6],
    [`/sys/fs/cgroup/system.slice/docker-${id}.scope/cpu.stat`, /^usage_usec (\d+)/m, 1e3],
    [`/sys/fs/cgroup/docker/${id}/cpu.stat`, /^usage_usec (\d+)/m, 1e3],
  ] as const) {
    if (existsSync(path)) return Number(pattern.exec(readFileSync(path, 'utf8'))?.[1]) / perMs;
  }
  return null;
}

test.serial(
  'A burn costs the stated CPU time, whatever the quota makes of the duration',
  async (t) => {
    if (missing(t, dockerAlone)) return;
    await withEmulator('wskgldblk0', {}, async (emulator) => {
      for (const [body, payload] of [
        ['cpu', { cpuMs: 200 }],
        ['parallel', { cpuMs: 200, workers: 2 }],
        ['parallel', { cpuMs: 300, workers: 2, processes: true }],
      ] as const) {
        const burner = action(body, {
          name: `${body}${'processes' in payload ? 'p' : ''}`,
          cpus: 0.5,
          memoryMb: 256,
        });
        const name = (await emulator.invoke(burner, { ...payload, cpuMs: 1 }))
          .containerName as string;
        await until(() => emulator.containers.every((container) => container.load === 0));
        const before = cpuMsOf(name);
        if (before === null)
          t.log('the kernel’s account is nowhere known: only the duration is compared');
        const result = await emulator.invoke(burner, payload);
        t.is(result.containerName, name);
        const cost = (cpuMsOf(name) ?? payload.cpuMs) - (before ?? 0);
        // The proxy's own work and the start of threads and children come on top.
        const most = payload.cpuMs + allowed(payload.cpuMs * 0.25);
        t.true(cost >= payload.cpuMs * 0.98 && cost <= most, `${body}: ${cost} ms`);
        // Half a core takes twice as long, but for the 50 ms that each of the first and the last
        // period lets through.
        t.true(result.runMs >= 2 * payload.cpuMs - 100, `${body}: ${result.runMs} ms`);
      }
    });
  },
);

test.serial('A container has OpenWhisk’s limits, and a quota if one is configured', async (t) => {
  if (missing(t, dockerAlone)) return;
  const limits = (name: string): unknown => {
    const format =
      '{{.HostConfig.CpuShares}} {{.HostConfig.Memory}} ' +
      '{{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}';
    return docker('inspect', '--format', format, name);
  };
  await withEmulator('wskgldblb0', { userCpus: 2, userMemoryMb: 2048 }, async (emulator) => {
    // 2048 / 256 = 8 containers: 1024 / 8 = 128 shares, 2 cores / 8 = 0.25 core.
    const plain = await emulator.invoke(action('noop', { memoryMb: 256 }));
    t.is(limits(plain.containerName as string), '128 268435456 250000000 1024');
    const own = await emulator.invoke(action('noop', { name: 'own', memoryMb: 256, cpus: 0.5 }));
    t.is(limits(own.containerName as string), '128 268435456 500000000 1024');
  });
});

for (const useRunc of [true, false]) {
  test.serial(
    `An idle container is paused by ${useRunc ? 'runc' : 'docker'}, resumed, and later removed`,
    async (t) => {
      if (missing(t, dockerAlone)) return;
      await withEmulator(
        'wskgldblc0',
        { useRunc, pauseGraceMs: 100, idleMs: 3000 },
        async (emulator) => {
          const first = await emulator.invoke(action('noop'));
          t.true(first.cold);
          await until(() => emulator.containers[0]?.state === 'paused');
          t.deepEqual(emulator.containers, [
            { name: 'wskgldblc0_1_guest_noop', state: 'paused', load: 0, memoryMb: 128 },
          ]);
          // The engine knows of a pause by docker only: one by runc is invisible in its API
          // (observed with an invoker).
          t.is(
            docker('inspect', '--format', '{{.State.Paused}}', 'wskgldblc0_1_guest_noop'),
            String(!useRunc),
          );
          const again = await emulator.invoke(action('noop'));
          t.true(again.ok && !again.cold);
          t.is(again.containerName, first.containerName);
          await until(() => emulator.containers.length === 0);
          t.deepEqual(emulator.containers, []);
          // Out of the pool first, then gone from the engine.
          await until(() => docker('ps', '-aq', '--filter', 'name=wskgldblc0_') === '');
          t.is(docker('ps', '-aq', '--filter', 'name=wskgldblc0_'), '');
        },
      );
    },
  );
}

test.serial(
  'Without room the least recently used idle container goes; an activation that needs one waits',
  async (t) => {
    if (missing(t, dockerAlone)) return;
    await withEmulator('wskgldble0', { userMemoryMb: 256 }, async (emulator) => {
      await emulator.invoke(action('noop', { name: 'a' }));
      await emulator.invoke(action('noop', { name: 'b' }));
      await until(() => emulator.containers.every((container) => container.load === 0));
      await emulator.invoke(action('noop', { name: 'a' }));
      await until(() => emulator.containers.every((container) => container.load === 0));
      await emulator.invoke(action('noop', { name: 'c' }));
      await until(() => emulator.containers.every((container) => container.load === 0));
      t.deepEqual(emulator.containers.map((container) => container.name).sort(), [
        'wskgldble0_1_guest_a',
        'wskgldble0_3_guest_c',
      ]);
      const slow = ['a', 'c'].map((name) =>
        emulator.invoke(action('io', { name: `${name}s` }), { sleepMs: 400 }),
      );
      const waiting = await emulator.invoke(action('noop', { name: 'd' }));
      t.true((await Promise.all(slow)).every((result) => result.ok));
      t.true(waiting.ok);
      t.true(waiting.waitMs > 400, 'both slots were taken for 400 ms');
    });
  },
);

test.serial(
  'A container takes as many activations at once as the action’s concurrency, then another starts',
  async (t) => {
    if (missing(t, dockerAlone)) return;
    await withEmulator('wskgldblf0', {}, async (emulator) => {
      const shared = action('io', { name: 'shared', concurrency: 4 });
      const four = await Promise.all(
        [1, 2, 3, 4].map(() => emulator.invoke(shared, { sleepMs: 300 })),
      );
      t.deepEqual(
        [...new Set(four.map((result) => result.containerName))],
        ['wskgldblf0_1_guest_shared'],
      );
      const alone = action('io', { name: 'alone' });
      const two = await Promise.all([1, 2].map(() => emulator.invoke(alone, { sleepMs: 300 })));
      t.is(new Set(two.map((result) => result.containerName)).size, 2);
    });
  },
);

test.serial(
  'A warm container that was killed meanwhile is replaced without the caller noticing',
  async (t) => {
    if (missing(t, dockerAlone)) return;
    // A network of its own: on the shared bridge another container may get the dead one's address
    // at once, and answer.
    const network = `wskgldblnet${process.pid}`;
    docker('network', 'create', network);
    try {
      await withEmulator('wskgldblg0', { network }, async (emulator) => {
        const first = await emulator.invoke(action('noop'));
        await until(() => emulator.containers.every((container) => container.state === 'ready'));
        docker('kill', first.containerName as string);
        const second = await emulator.invoke(action('noop'));
        t.true(second.ok);
        t.is(second.containerName, 'wskgldblg0_2_guest_noop');
      });
    } finally {
      docker('network', 'rm', network);
    }
  },
);

test.serial(
  'Start-up removes what an earlier invoker of the same prefix left, and nothing else',
  async (t) => {
    if (missing(t, dockerAlone)) return;
    const image = await ensureActionImage();
    const left = docker('run', '-d', '--name', 'wskgldblh0_9_guest_left', image);
    const other = docker('run', '-d', '--name', 'wskgldbli0_9_guest_other', image);
    try {
      // runc gives up where processes start meanwhile, as they do on a busy machine.
      await until(() => isDone('pause', left));
      await withEmulator('wskgldblh0', { useRunc: false }, async () => {
        t.is(docker('ps', '-aq', '--filter', 'name=wskgldblh0_'), '');
        t.not(docker('ps', '-aq', '--filter', 'name=wskgldbli0_'), '');
      });
    } finally {
      // Docker fails for one that is gone, as it should be.
      isDone('rm', '-f', left);
      docker('rm', '-f', other);
    }
  },
);

function isDone(...command: readonly string[]): boolean {
  try {
    docker(...command);
    return true;
  } catch {
    return false;
  }
}

test.serial('Both client styles, small and large payloads, give the same answers', async (t) => {
  if (missing(t, dockerAlone)) return;
  for (const clientStyle of ['apache', 'akka'] as const) {
    await withEmulator('wskgldblj0', { clientStyle }, async (emulator) => {
      const echo: Action = {
        ...action('noop'),
        code: 'function noop(a){return {n:a.text.length}}',
      };
      for (const size of [0, 100, 9000, 900_000]) {
        const result = await emulator.invoke(echo, { text: 'x'.repeat(size) });
        t.deepEqual(result.result, { n: size });
      }
      const long: Action = {
        ...action('noop'),
        name: 'long',
        code: 'function noop(){return {text:"y".repeat(2e6)}}',
      };
      // More than 1 MiB: cut, and an application error (processRunResponseContent).
      t.is((await emulator.invoke(long)).kind, 'application error');
    });
  }
});
