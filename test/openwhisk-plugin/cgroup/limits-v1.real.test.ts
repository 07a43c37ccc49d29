import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { bytes, millicores, SeededRandom } from '../../../config/index.js';
import {
  CgroupLimitWriter,
  CgroupUsageMonitor,
  type ContainerInfo,
  DockerEngine,
  emptySample,
  findDrift,
  type HostFacts,
  NO_LIMIT,
  resolveCgroups,
  restoreAll,
} from '../../../openwhisk-plugin/index.js';
import { dockerAlone, missing } from '../../real-parts.js';
import {
  containerName,
  docker,
  eventually,
  IDLE,
  nodeImage,
  removeContainers,
  removeParent,
  runContainer,
  runSleepers,
} from './real-containers.js';

const MIB = 1024 * 1024;

async function withContainers(
  t: ExecutionContext,
  programs: readonly { program: string; flags?: readonly string[] }[],
  body: (
    containers: ContainerInfo[],
    writer: CgroupLimitWriter,
    engine: DockerEngine,
    facts: HostFacts,
  ) => Promise<void>,
): Promise<void> {
  if (missing(t, dockerAlone)) return;
  await nodeImage();
  const names = programs.map((_, index) => containerName(`limits${index}`));
  const mine = new Set(names);
  const engine = new DockerEngine({ managed: (name) => mine.has(name) });
  const facts = await engine.facts();
  const writer = new CgroupLimitWriter({ cgroupVersion: facts.cgroupVersion });
  try {
    await Promise.all(programs.map(({ program, flags }, i) => runContainer(names[i] as string, program, flags)));
    const containers = await engine.snapshot();
    containers.sort((a, b) => a.name.localeCompare(b.name));
    t.is(containers.length, names.length);
    await body(containers, writer, engine, facts);
  } finally {
    await writer.close();
    engine.close();
    await removeContainers(names);
  }
}

/** What the kernel says, read past the code under test. */
const kernel = (container: ContainerInfo, controller: 'cpu' | 'memory' | 'freezer', name: string): string => {
  const where = resolveCgroups(container.pid, container.id)[controller];
  return readFileSync(join(where?.directory ?? '', name), 'utf8').trim();
};

/** The files' names below are v1's; on a v2 host the fixture tests stand in. */
const isV1 = (t: ExecutionContext, facts: HostFacts): boolean => {
  if (facts.cgroupVersion === 1) return true;
  t.log('CGROUP V2 HOST: the v1 files were not tested');
  return false;
};

test.serial('a limit is in the kernel after the call, and inspect still says what the user asked for', async (t) => {
  await withContainers(t, [{ program: IDLE }], async ([container], writer, engine, facts) => {
    if (!container || !isV1(t, facts)) return;
    const handle = writer.open(container);
    t.deepEqual({ ...handle.expected }, { shares: 128, quota: millicores(0), memory: bytes(256 * MIB) });
    t.is(handle.setQuota(millicores(600)), 'written');
    t.is(kernel(container, 'cpu', 'cpu.cfs_quota_us'), '60000');
    t.is(handle.setQuota(millicores(600)), 'unchanged');
    t.is(handle.setShares(2048), 'written');
    t.is(kernel(container, 'cpu', 'cpu.shares'), '2048');
    t.is(handle.raiseMemory(bytes(512 * MIB)), 'written');
    t.is(kernel(container, 'memory', 'memory.limit_in_bytes'), '536870912', 'A1-01: both files');
    t.is(kernel(container, 'memory', 'memory.memsw.limit_in_bytes'), '536870912');
    t.is(handle.raiseMemory(bytes(256 * MIB)), 'refused', 'a reduction is not a raise');
    t.is(handle.protectMemory(bytes(256 * MIB)), 'unsupported');
    // A2-26: nothing of this is known to the engine.
    t.deepEqual((await engine.snapshot())[0]?.user, container.user);
    // A2-05: no limit is restored as no limit.
    t.is(handle.setQuota(millicores(NO_LIMIT)), 'written');
    t.is(kernel(container, 'cpu', 'cpu.cfs_quota_us'), '-1');
    // A2-02: down again, in the other order.
    t.is(await handle.lowerMemory(bytes(128 * MIB)), 'written');
    t.is(kernel(container, 'memory', 'memory.limit_in_bytes'), '134217728');
    t.is(kernel(container, 'memory', 'memory.memsw.limit_in_bytes'), '134217728');
    handle.close();
  });
});

test.serial('A1-03, A2-25: shares stay in the kernel range, and numbers that are none are refused', async (t) => {
  await withContainers(t, [{ program: IDLE }], async ([container], writer, _engine, facts) => {
    if (!container || !isV1(t, facts)) return;
    const handle = writer.open(container);
    handle.setShares(1);
    t.is(kernel(container, 'cpu', 'cpu.shares'), '2');
    handle.setShares(262145);
    t.is(kernel(container, 'cpu', 'cpu.shares'), '262144');
    t.is(handle.setShares(Number.NaN), 'refused');
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, -1]) t.is(handle.setQuota(millicores(bad)), 'refused');
    t.is(handle.raiseMemory(bytes(Number.NaN)), 'refused');
    // 1.07 cores, whose product with 1e9 is no integer: 107000 us.
    t.is(handle.setQuota(millicores(1.07 * 1000)), 'written');
    t.is(kernel(container, 'cpu', 'cpu.cfs_quota_us'), '107000');
    handle.close();
  });
});

test.serial('A2-03: a limit below the use is not written and the container lives', async (t) => {
  const grow = 'globalThis.b = Buffer.alloc(150 * 1048576, 1); setInterval(() => {}, 1000)';
  await withContainers(t, [{ program: grow }], async ([container], writer, _engine, facts) => {
    if (!container || !isV1(t, facts)) return;
    const probe = new CgroupUsageMonitor().open(container);
    const sample = emptySample();
    t.true(await eventually(() => probe.sample(sample) && sample.workingSet > 150 * MIB));
    const handle = writer.open(container);
    t.is(await handle.lowerMemory(bytes(128 * MIB)), 'refused');
    t.is(kernel(container, 'memory', 'memory.limit_in_bytes'), '268435456');
    t.is(kernel(container, 'memory', 'memory.memsw.limit_in_bytes'), '268435456');
    t.is(await handle.lowerMemory(bytes(240 * MIB)), 'written');
    t.is(await docker('inspect', '-f', '{{.State.Running}}', container.name), 'true');
    probe.close();
    handle.close();
  });
});

test.serial(
  'A2-18: fifty parallel changes of one container end with the newest, and it is not left frozen',
  async (t) => {
    await withContainers(t, [{ program: IDLE }], async ([container], writer, _engine, facts) => {
      if (!container || !isV1(t, facts)) return;
      const handle = writer.open(container);
      t.is(handle.raiseMemory(bytes(512 * MIB)), 'written');
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) => handle.lowerMemory(bytes((500 - i) * MIB))),
      );
      t.is(results.at(-1), 'written');
      t.is(kernel(container, 'memory', 'memory.limit_in_bytes'), String(451 * MIB));
      t.true(results.filter((result) => result === 'written').length <= 2, 'older wishes are dropped');
      // A raise that comes while a lowering is on its way wins.
      const lowering = handle.lowerMemory(bytes(200 * MIB));
      t.not(handle.raiseMemory(bytes(600 * MIB)), 'refused');
      t.is(await lowering, 'refused');
      t.is(kernel(container, 'memory', 'memory.limit_in_bytes'), String(600 * MIB));
      t.is(kernel(container, 'freezer', 'freezer.state'), 'THAWED');
      handle.close();
    });
  },
);

test.serial(
  'whatever order raises and lowerings come in, the kernel has what the handle expects, memory and swap alike',
  async (t) => {
    await withContainers(t, [{ program: IDLE }], async ([container], writer, _engine, facts) => {
      if (!container || !isV1(t, facts)) return;
      const handle = writer.open(container);
      const random = new SeededRandom(11);
      for (let round = 0; round < 60; round++) {
        const pending: Promise<unknown>[] = [];
        for (let i = 0; i < 8; i++) {
          const size = bytes((128 + random.below(800)) * MIB);
          if (random.below(2) === 0) handle.raiseMemory(size);
          else pending.push(handle.lowerMemory(size));
          if (random.below(3) === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        await Promise.all(pending);
        const { memory } = handle.expected;
        t.is(kernel(container, 'memory', 'memory.limit_in_bytes'), String(memory), `round ${round}`);
        t.is(kernel(container, 'memory', 'memory.memsw.limit_in_bytes'), String(memory), `round ${round}`);
      }
      handle.close();
    });
  },
);

test.serial('A2-11: a quota is not above that of the group over it, and the period stays', async (t) => {
  if (missing(t, dockerAlone)) return;
  const parent = `/${containerName('parent')}`;
  const flags = ['--cgroup-parent', parent, '--cpu-quota', '50000', '--memory', '128m', '--memory-swap', '128m'];
  await withContainers(t, [{ program: IDLE, flags }], async ([container], writer, _engine, facts) => {
    if (!container || !isV1(t, facts)) return;
    const directory = resolveCgroups(container.pid, container.id).cpu?.directory ?? '';
    writeFileSync(join(directory, '..', 'cpu.cfs_quota_us'), '100000');
    const handle = writer.open(container);
    t.is(handle.setQuota(millicores(2000)), 'written');
    t.is(kernel(container, 'cpu', 'cpu.cfs_quota_us'), '100000');
    t.is(handle.expected.quota as number, 1000);
    // A2-13: the kernel refuses a quota below the burst, so that this one passes only in the right order.
    writeFileSync(join(directory, 'cpu.cfs_burst_us'), '80000');
    t.is(handle.setQuota(millicores(300)), 'written');
    t.is(kernel(container, 'cpu', 'cpu.cfs_burst_us'), '30000');
    // Narrowed behind our back: the kernel says EINVAL, the handle looks again.
    handle.setQuota(millicores(200));
    writeFileSync(join(directory, '..', 'cpu.cfs_quota_us'), '50000');
    t.is(handle.setQuota(millicores(900)), 'written');
    t.is(kernel(container, 'cpu', 'cpu.cfs_quota_us'), '50000');
    t.is(kernel(container, 'cpu', 'cpu.cfs_period_us'), '100000');
    handle.close();
  });
  removeParent(readdirSync('/sys/fs/cgroup').map((name) => join('/sys/fs/cgroup', name, parent)));
});

test.serial('A2-08, A2-09: what somebody else changes is found and put back, once', async (t) => {
  await withContainers(t, [{ program: IDLE }], async ([container], writer, _engine, facts) => {
    if (!container || !isV1(t, facts)) return;
    const handle = writer.open(container);
    handle.setQuota(millicores(500));
    const found = { shares: 0, quota: millicores(0), memory: bytes(0) };
    t.is(findDrift(handle, found), 'none');
    // Docker's own update is refused for shares of 1, and yet writes 2 (field note A1-03, [M]).
    await t.throwsAsync(docker('update', '--cpu-shares', '1', container.name));
    await docker('update', '--cpus', '2', container.name);
    t.is(findDrift(handle, found), 'limits');
    t.deepEqual([found.shares, Number(found.quota)], [2, 2000]);
    t.deepEqual([handle.setShares(128), handle.setQuota(handle.expected.quota)], ['written', 'written']);
    t.is(findDrift(handle, found), 'none');
    t.is(kernel(container, 'cpu', 'cpu.shares'), '128');
    t.is(kernel(container, 'cpu', 'cpu.cfs_quota_us'), '50000');
    handle.close();
  });
});

test.serial('A1-15: a container that is gone answers so, everywhere', async (t) => {
  await withContainers(t, [{ program: IDLE }], async ([container], writer, _engine, facts) => {
    if (!container || !isV1(t, facts)) return;
    const handle = writer.open(container);
    const probe = new CgroupUsageMonitor().open(container);
    await removeContainers([container.name]);
    t.true(await eventually(() => probe.cpu() === -1));
    t.false(probe.sample(emptySample()));
    t.is(handle.setQuota(millicores(500)), 'gone');
    t.is(handle.setShares(500), 'gone');
    t.is(handle.raiseMemory(bytes(512 * MIB)), 'gone');
    t.is(await handle.lowerMemory(bytes(128 * MIB)), 'gone');
    t.false(handle.read({ shares: 0, quota: millicores(0), memory: bytes(0) }));
    t.throws(() => writer.open(container), { code: 'GLN_CGROUP_NOT_FOUND' });
    probe.close();
    handle.close();
    handle.close();
  });
});

test.serial('A1-15: after a crash every container is back at its user limits, from Docker alone', async (t) => {
  const programs = Array.from({ length: 4 }, () => ({ program: IDLE }));
  await withContainers(t, programs, async (containers, writer, engine, facts) => {
    if (!isV1(t, facts)) return;
    // The limits of a hook that was killed: its handles are gone, the cgroups stay as they were.
    for (const container of containers) {
      const handle = writer.open(container);
      handle.setQuota(millicores(300));
      handle.setShares(8);
      await handle.lowerMemory(bytes(128 * MIB));
      handle.close();
    }
    const begun = performance.now();
    const report = await restoreAll({ engine, writer });
    t.log(`restored ${report.restored.length} containers in ${(performance.now() - begun).toFixed(1)} ms`);
    t.is(report.failed.length, 0);
    t.is(report.restored.length, 4);
    for (const { before, after, container } of report.restored) {
      t.deepEqual({ ...before }, { shares: 8, quota: millicores(300), memory: bytes(128 * MIB) });
      t.deepEqual({ ...after }, { shares: 128, quota: millicores(0), memory: bytes(268435456) });
      t.is(kernel(container, 'memory', 'memory.memsw.limit_in_bytes'), '268435456');
    }
    const again = await restoreAll({ engine, writer });
    for (const { shares, quota, memory } of again.restored) {
      t.deepEqual([shares, quota, memory], ['unchanged', 'unchanged', 'unchanged']);
    }
  });
});

test.serial('A1-15: fifty containers are restored within a second, the engine asked included', async (t) => {
  if (missing(t, dockerAlone)) return;
  const names = Array.from({ length: 50 }, (_, i) => containerName(`many${i}`));
  const mine = new Set(names);
  const engine = new DockerEngine({ managed: (name) => mine.has(name) });
  const writer = new CgroupLimitWriter({ cgroupVersion: (await engine.facts()).cgroupVersion });
  try {
    await runSleepers(names);
    for (const container of await engine.snapshot()) {
      const handle = writer.open(container);
      handle.setQuota(millicores(300));
      t.is(await handle.lowerMemory(bytes(64 * MIB)), 'written');
      handle.close();
    }
    // As the supervisor does it: a new client, nothing known.
    const fresh = new DockerEngine({ managed: (name) => mine.has(name) });
    const begun = performance.now();
    const report = await restoreAll({ engine: fresh, writer });
    const took = performance.now() - begun;
    fresh.close();
    t.log(`50 containers in ${took.toFixed(0)} ms`);
    t.is(report.restored.length, 50);
    t.true(
      report.restored.every(
        (each) => each.memory === 'written' && each.after.memory === 128 * MIB && each.after.quota === 0,
      ),
    );
    t.true(took < 1000, `${took} ms`);
  } finally {
    await writer.close();
    engine.close();
    await removeContainers(names);
  }
});
