import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { bytes, millicores, millis, SeededRandom } from '../../../../config/index.js';
import { emptySample, NO_LIMIT } from '../../../../openwhisk-plugin/decision/index.js';
import { resolveCgroups } from '../../../../openwhisk-plugin/host/cgroup/cgroup-paths.js';
import {
  CgroupLimitWriter,
  CgroupUsageMonitor,
  findDrift,
  restoreAll,
  SystemdBus,
} from '../../../../openwhisk-plugin/host/cgroup/index.js';
import { CpuFiles, GroupQuotas } from '../../../../openwhisk-plugin/host/cgroup/limit-files.js';
import { DockerEngine } from '../../../../openwhisk-plugin/host/docker/index.js';
import type { ContainerInfo, HostFacts } from '../../../../openwhisk-plugin/host/ports/index.js';
import { dockerAlone, missing } from '../../../support/real-parts.js';
import { allowed } from '../../../support/slowness.js';
import { listed } from './listed.js';
import {
  containerName,
  docker,
  eventually,
  IDLE,
  nodeImage,
  removeContainers,
  removeParent,
  runContainer,
  runIdleContainers,
  sleep,
} from './real-containers.js';

const DEADLINE = millis(allowed(5000));

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
  const managed = new Set(names);
  const engine = new DockerEngine({ managed: (name) => managed.has(name), deadline: DEADLINE });
  const facts = await engine.facts();
  const writer = writerFor(facts);
  try {
    await Promise.all(
      programs.map(({ program, flags }, i) => runContainer(names[i] as string, program, flags)),
    );
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

/** As the hook has it: where systemd owns the cgroups it is told. */
function writerFor({ cgroupVersion, cgroupDriver }: HostFacts): CgroupLimitWriter {
  return new CgroupLimitWriter({
    cgroupVersion,
    ...(cgroupDriver === 'systemd' ? { scopes: new SystemdBus() } : {}),
  });
}

/** Files read; a suite that compares nothing with the kernel has shown nothing. */
let compared = 0;

const NO_QUOTA = { 1: '-1', 2: 'max' } as const;

/**
 * What the kernel says, read past the code under test, in the words of the machine's cgroup
 * version.
 */
function kernel(container: ContainerInfo) {
  const paths = resolveCgroups(container.pid, container.id);
  const text = (controller: 'cpu' | 'memory' | 'freezer', v1: string, v2: string): string => {
    const where = paths[controller];
    if (where === null) throw new Error(`no ${controller} cgroup`);
    compared++;
    return readFileSync(join(where.directory, where.version === 1 ? v1 : v2), 'utf8').trim();
  };
  const version = paths.cpu?.version ?? 1;
  return {
    version,
    cpuDirectory: paths.cpu?.directory ?? '',
    /** `-1` or `max`, else us. */
    quota: () => text('cpu', 'cpu.cfs_quota_us', 'cpu.max').split(' ')[0],
    period: () =>
      version === 1
        ? text('cpu', 'cpu.cfs_period_us', '')
        : text('cpu', '', 'cpu.max').split(' ')[1],
    burst: () => text('cpu', 'cpu.cfs_burst_us', 'cpu.max.burst'),
    /** Shares on v1. */
    weight: () => Number(text('cpu', 'cpu.shares', 'cpu.weight')),
    memory: () => text('memory', 'memory.limit_in_bytes', 'memory.max'),
    /** Beyond the memory limit. */
    swap: () => {
      const limit = text('memory', 'memory.memsw.limit_in_bytes', 'memory.swap.max');
      return version === 1
        ? String(Number(limit) - Number(text('memory', 'memory.limit_in_bytes', '')))
        : limit;
    },
    low: () => text('memory', '', 'memory.low'),
    frozen: () =>
      text('freezer', 'freezer.state', 'cgroup.freeze') !== (version === 1 ? 'THAWED' : '0'),
  };
}

const noLimits = () => ({ shares: 0, quota: millicores(0), memory: bytes(0) });

test.serial(
  'a limit is in the kernel after the call, and inspect still says what the user asked for',
  async (t) => {
    await withContainers(t, [{ program: IDLE }], async ([container], writer, engine) => {
      if (!container) return;
      const handle = writer.open(container);
      t.deepEqual(
        { ...handle.expected },
        { shares: 128, quota: millicores(0), memory: bytes(256 * MIB) },
      );
      const its = kernel(container);
      const own = its.weight();
      t.is(handle.setQuota(millicores(600)), 'written');
      t.is(its.quota(), '60000');
      t.is(handle.setQuota(millicores(600)), 'unchanged');
      t.is(handle.setShares(2048), 'written');
      t.is(its.weight(), 16 * own);
      t.is(handle.raiseMemory(bytes(512 * MIB)), 'written');
      t.is(its.memory(), '536870912');
      t.is(its.swap(), '0', 'none comes with a loan');
      t.is(handle.raiseMemory(bytes(256 * MIB)), 'refused', 'a reduction is not a raise');
      t.is(handle.protectMemory(bytes(256 * MIB)), its.version === 1 ? 'unsupported' : 'written');
      if (its.version === 2) t.is(its.low(), String(256 * MIB));
      // nothing of this is known to the engine.
      t.deepEqual((await engine.snapshot())[0]?.user, container.user);
      // no limit is restored as no limit.
      t.is(handle.setQuota(millicores(NO_LIMIT)), 'written');
      t.is(its.quota(), NO_QUOTA[its.version]);
      // down again, in the other order.
      handle.setQuota(millicores(600));
      t.is(await handle.lowerMemory(bytes(128 * MIB)), 'written');
      await writer.settled();
      t.deepEqual([its.memory(), its.swap()], ['134217728', '0']);
      // systemd has reset both meanwhile if it got the memory limit.
      t.deepEqual([its.quota(), its.weight()], ['60000', 16 * own]);
      handle.close();
    });
  },
);

test.serial('shares stay in the kernel range, and numbers that are none are refused', async (t) => {
  await withContainers(t, [{ program: IDLE }], async ([container], writer) => {
    if (!container) return;
    const handle = writer.open(container);
    const its = kernel(container);
    handle.setShares(1);
    t.is(its.weight(), its.version === 1 ? 2 : 1);
    handle.setShares(262145);
    t.is(its.weight(), its.version === 1 ? 262144 : 10_000);
    t.is(handle.setShares(Number.NaN), 'refused');
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, -1])
      t.is(handle.setQuota(millicores(bad)), 'refused');
    t.is(handle.raiseMemory(bytes(Number.NaN)), 'refused');
    // 1.07 cores, whose product with 1e9 is no integer: 107000 us.
    t.is(handle.setQuota(millicores(1.07 * 1000)), 'written');
    t.is(its.quota(), '107000');
    handle.close();
  });
});

test.serial('a limit below the use is not written and the container lives', async (t) => {
  const grow = 'globalThis.b = Buffer.alloc(150 * 1048576, 1); setInterval(() => {}, 1000)';
  await withContainers(t, [{ program: grow }], async ([container], writer) => {
    if (!container) return;
    const probe = new CgroupUsageMonitor().open(container);
    const sample = emptySample();
    t.true(await eventually(() => probe.sample(sample) && sample.workingSet > 150 * MIB));
    const handle = writer.open(container);
    t.is(await handle.lowerMemory(bytes(128 * MIB)), 'refused');
    const its = kernel(container);
    t.deepEqual([its.memory(), its.swap()], ['268435456', '0']);
    t.is(await handle.lowerMemory(bytes(240 * MIB)), 'written');
    t.is(await docker('inspect', '-f', '{{.State.Running}}', container.name), 'true');
    probe.close();
    handle.close();
  });
});

test.serial(
  'fifty parallel changes of one container end with the newest, and it is not left frozen',
  async (t) => {
    await withContainers(t, [{ program: IDLE }], async ([container], writer) => {
      if (!container) return;
      const handle = writer.open(container);
      t.is(handle.raiseMemory(bytes(512 * MIB)), 'written');
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) => handle.lowerMemory(bytes((500 - i) * MIB))),
      );
      t.is(results.at(-1), 'written');
      const its = kernel(container);
      t.is(its.memory(), String(451 * MIB));
      t.true(
        results.filter((result) => result === 'written').length <= 2,
        'older limits are dropped',
      );
      // A raise that comes while a lowering is on its way wins.
      const lowering = handle.lowerMemory(bytes(200 * MIB));
      t.not(handle.raiseMemory(bytes(600 * MIB)), 'refused');
      t.is(await lowering, 'refused');
      t.is(its.memory(), String(600 * MIB));
      await writer.settled();
      t.is(its.memory(), String(600 * MIB));
      t.false(its.frozen());
      handle.close();
    });
  },
);

test.serial(
  'after raises and lowerings in any order the kernel has the expected memory and swap',
  async (t) => {
    await withContainers(t, [{ program: IDLE }], async ([container], writer) => {
      if (!container) return;
      const handle = writer.open(container);
      const its = kernel(container);
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
        await writer.settled();
        const { memory } = handle.expected;
        t.deepEqual([its.memory(), its.swap()], [String(memory), '0'], `round ${round}`);
      }
      handle.close();
    });
  },
);

test.serial('a quota is not above that of the group over it, and the period stays', async (t) => {
  if (missing(t, dockerAlone)) return;
  const isSystemd = (await docker('info', '-f', '{{.CgroupDriver}}')) === 'systemd';
  // systemd takes a slice and nothing else.
  const parent = isSystemd ? `${containerName('parent')}.slice` : `/${containerName('parent')}`;
  const flags = [
    '--cgroup-parent',
    parent,
    '--cpu-quota',
    '50000',
    '--memory',
    '128m',
    '--memory-swap',
    '128m',
  ];
  await withContainers(t, [{ program: IDLE, flags }], async ([container], writer) => {
    if (!container) return;
    const its = kernel(container);
    const narrow = (quota: number): void =>
      its.version === 1
        ? writeFileSync(join(its.cpuDirectory, '..', 'cpu.cfs_quota_us'), String(quota))
        : writeFileSync(join(its.cpuDirectory, '..', 'cpu.max'), `${quota} 100000`);
    narrow(100_000);
    const handle = writer.open(container);
    t.is(handle.setQuota(millicores(2000)), 'written');
    t.is(its.quota(), '100000');
    t.is(handle.expected.quota as number, 1000);
    // the kernel refuses a quota below the burst, so that this one passes only in the
    // right order.
    writeFileSync(
      join(its.cpuDirectory, its.version === 1 ? 'cpu.cfs_burst_us' : 'cpu.max.burst'),
      '80000',
    );
    t.is(handle.setQuota(millicores(300)), 'written');
    t.is(its.burst(), '30000');
    // Narrowed behind our back: v1's kernel says EINVAL and the handle looks again; v2's does
    // not, and it looks when it looks for drift.
    handle.setQuota(millicores(200));
    narrow(50_000);
    if (its.version === 2) t.is(findDrift(handle, noLimits()), 'none');
    t.is(handle.setQuota(millicores(900)), 'written');
    t.is(its.quota(), '50000');
    t.is(its.period(), '100000');
    handle.close();
  });
  const root = '/sys/fs/cgroup';
  removeParent([join(root, parent), ...readdirSync(root).map((name) => join(root, name, parent))]);
});

test.serial('a limit that another program changed is found and restored once', async (t) => {
  await withContainers(t, [{ program: IDLE }], async ([container], writer) => {
    if (!container) return;
    const its = kernel(container);
    const own = its.weight();
    const handle = writer.open(container);
    handle.setQuota(millicores(500));
    const found = noLimits();
    t.is(findDrift(handle, found), 'none');
    if (its.version === 1) {
      // Docker's own update is refused for shares of 1, and yet writes 2.
      await t.throwsAsync(docker('update', '--cpu-shares', '1', container.name));
    } else await docker('update', '--cpu-shares', '2', container.name);
    // Not above the smallest machine's one core.
    await docker('update', '--cpus', '0.9', container.name);
    t.is(findDrift(handle, found), 'limits');
    t.is(Number(found.quota), 900);
    t.true(found.shares < 128);
    t.deepEqual(
      [handle.setShares(128), handle.setQuota(handle.expected.quota)],
      ['written', 'written'],
    );
    // With the systemd driver Docker's update brings swap back
    // (https://github.com/opencontainers/cgroups/issues/74).
    t.not(handle.repairSwap(), 'not_effective');
    await writer.settled();
    t.is(findDrift(handle, found), 'none');
    t.deepEqual([its.weight(), its.quota(), its.swap()], [own, '50000', '0']);
    handle.close();
  });
});

test.serial(
  'what systemd undoes is found and written again, and it never gives swap to a container without',
  async (t) => {
    await withContainers(
      t,
      [{ program: IDLE }],
      async ([container], writer, engine, { cgroupDriver }) => {
        if (!container) return;
        if (cgroupDriver !== 'systemd') {
          t.log("NOT RUN: needs Docker's systemd cgroup driver");
          t.pass();
          return;
        }
        const its = kernel(container);
        const own = its.weight();
        const handle = writer.open(container);
        handle.setQuota(millicores(300));
        handle.setShares(512);
        t.is(await handle.lowerMemory(bytes(128 * MIB)), 'written');
        t.is(handle.protectMemory(bytes(64 * MIB)), its.version === 1 ? 'unsupported' : 'written');
        await writer.settled();
        const expected = ['30000', 4 * own, String(128 * MIB), '0'];
        const all = (): unknown[] => [its.quota(), its.weight(), its.memory(), its.swap()];
        t.deepEqual(all(), expected);
        const unit = resolveCgroups(container.pid, container.id).unit;
        const changes = [
          ['daemon-reload'],
          ['daemon-reexec'],
          ['set-property', '--runtime', unit, 'TasksMax=500'],
          ['set-property', '--runtime', 'system.slice', 'CPUWeight=200'],
          // Where containerd is a service of its own; containers outlive it.
          ['try-restart', 'containerd.service'],
        ];
        for (const change of changes) {
          execFileSync('systemctl', change);
          // It answers before the last file is written.
          await sleep(500);
          t.deepEqual(
            [its.memory(), its.swap()],
            [String(128 * MIB), '0'],
            `after ${change.join(' ')}`,
          );
          const found = noLimits();
          const drift = findDrift(handle, found);
          const { quota, shares } = found;
          t.log(`${change[0]} ${change[3] ?? ''}: ${drift}, quota ${quota}, shares ${shares}`);
          handle.setShares(handle.expected.shares);
          handle.setQuota(handle.expected.quota);
          t.deepEqual(all(), expected);
          t.is(findDrift(handle, found), 'none');
        }
        handle.close();
        // As after a crash: nothing is left, in the kernel or in what systemd knows.
        await restoreAll({ engine, writer });
        execFileSync('systemctl', ['daemon-reload']);
        await sleep(500);
        t.deepEqual(all(), [NO_QUOTA[its.version], own, String(256 * MIB), '0']);
        if (its.version === 2) t.is(its.low(), '0');
      },
    );
  },
);

test.serial('after a crash each container gets the weight that its runtime gave it', async (t) => {
  const limits = ['--memory', '64m', '--memory-swap', '64m'];
  const programs = [
    { program: IDLE, flags: limits },
    { program: IDLE, flags: ['--cpu-shares', '128', ...limits] },
    { program: IDLE, flags: ['--cpu-shares', '2', ...limits] },
    { program: IDLE, flags: ['--cpu-shares', '1024', ...limits] },
  ];
  await withContainers(t, programs, async (containers, writer, engine, facts) => {
    const before = containers.map((container) => kernel(container).weight());
    for (const container of containers) {
      const handle = writer.open(container);
      handle.setShares(538);
      handle.close();
    }
    // As the hook that starts next: nothing is known, and the containers may come in any order.
    for (const order of [containers, [...containers].reverse()]) {
      for (const container of containers) {
        const handle = writer.open(container);
        handle.setShares(538);
        handle.close();
      }
      const next = writerFor(facts);
      await restoreAll({ engine: listed(order), writer: next });
      await next.close();
      t.deepEqual(
        containers.map((container) => kernel(container).weight()),
        before,
      );
    }
    t.is((await engine.snapshot()).length, containers.length);
  });
});

/** The least weight of the groups in use beside a container that are not `managed`. */
function leastBeside(own: string, managed: ReadonlySet<string>): number {
  const file = (group: string, ...names: string[]): string => {
    const name = names.find((each) => existsSync(join(group, each)));
    return name === undefined ? '' : readFileSync(join(group, name), 'utf8').trim();
  };
  const parent = dirname(own);
  let least = Number.POSITIVE_INFINITY;
  for (const entry of readdirSync(parent, { withFileTypes: true })) {
    const group = join(parent, entry.name);
    if (!entry.isDirectory() || managed.has(group)) continue;
    const processes = readdirSync(group, { recursive: true, encoding: 'utf8' })
      .filter((name) => basename(name) === 'cgroup.procs')
      .map((name) => file(group, name));
    if (processes.some((text) => text !== ''))
      least = Math.min(least, Number(file(group, 'cpu.weight', 'cpu.shares')));
  }
  return least;
}

test.serial(
  'around the factor that the groups beside it allow, weights of 1/16 to 16 are in the kernel',
  async (t) => {
    const limits = ['--memory', '64m', '--memory-swap', '64m'];
    // What OpenWhisk gives 128 MB on a large invoker, and on a small one.
    const programs = ['2', '128'].map((shares) => ({
      program: IDLE,
      flags: ['--cpu-shares', shares, ...limits],
    }));
    await withContainers(t, programs, async (containers, writer) => {
      const handles = containers.map((container) => writer.open(container));
      const groups = containers.map(kernel);
      const owns = groups.map((its) => its.weight());
      const managed = new Set(groups.map(({ cpuDirectory }) => cpuDirectory));
      // A group beside them counts from the second look.
      writer.siblingFactor();
      const factor = writer.siblingFactor();
      const least = leastBeside(groups[0]!.cpuDirectory, managed);
      t.log(`weights ${owns.join(', ')}, least beside them ${least}, factor ${factor}`);
      t.true(factor * Math.max(...owns) <= least, 'none stands above what is not managed');
      const [low, high] = groups[0]!.version === 1 ? [2, 262_144] : [1, 10_000];
      const common = Math.max(1, Math.min(32, factor));
      for (const [i, handle] of handles.entries()) {
        for (const step of [1 / 16, 1 / 4, 1, 4, 16]) {
          handle.setShares(containers[i]!.user.shares * common * step);
          const exact = Math.min(high, Math.max(low, owns[i]! * common * step));
          // Rounded, and on v2 not to a weight that a runtime gives the user's shares.
          t.true(Math.abs(groups[i]!.weight() - exact) <= 2, `${step} of ${owns[i]}`);
        }
        handle.setShares(containers[i]!.user.shares);
        t.is(groups[i]!.weight(), owns[i]!);
        handle.close();
      }
    });
  },
);

test.serial('a container that is gone answers so, everywhere', async (t) => {
  await withContainers(t, [{ program: IDLE }], async ([container], writer) => {
    if (!container) return;
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

test.serial(
  'after a crash every container is back at its user limits, from Docker alone',
  async (t) => {
    const programs = Array.from({ length: 4 }, () => ({ program: IDLE }));
    await withContainers(t, programs, async (containers, writer, engine) => {
      // The limits of a hook that was killed: its handles are gone, the cgroups stay as they were.
      for (const container of containers) {
        const handle = writer.open(container);
        handle.setQuota(millicores(300));
        handle.setShares(64);
        await handle.lowerMemory(bytes(128 * MIB));
        await writer.settled();
        handle.close();
      }
      const begun = performance.now();
      const report = await restoreAll({ engine, writer });
      const took = performance.now() - begun;
      t.log(`restored ${report.restored.length} containers in ${took.toFixed(1)} ms`);
      t.is(report.failed.length, 0);
      t.is(report.restored.length, 4);
      for (const { before, after, container } of report.restored) {
        t.is(before.quota as number, 300);
        t.is(before.memory as number, 128 * MIB);
        // Half of a weight of 5 is 3 or 2: v2's are coarse.
        t.true(before.shares >= 51 && before.shares < 90, `${before.shares}`);
        t.deepEqual({ ...after }, { shares: 128, quota: millicores(0), memory: bytes(268435456) });
        const its = kernel(container);
        t.deepEqual([its.memory(), its.swap()], ['268435456', '0']);
      }
      const again = await restoreAll({ engine, writer });
      for (const { shares, quota, memory } of again.restored) {
        t.deepEqual([shares, quota, memory], ['unchanged', 'unchanged', 'unchanged']);
      }
    });
  },
);

test.serial(
  'fifty containers are restored within a second, the engine asked included',
  async (t) => {
    if (missing(t, dockerAlone)) return;
    const names = Array.from({ length: 50 }, (_, i) => containerName(`many${i}`));
    const managed = new Set(names);
    const engine = new DockerEngine({ managed: (name) => managed.has(name), deadline: DEADLINE });
    const writer = writerFor(await engine.facts());
    try {
      await runIdleContainers(names);
      for (const container of await engine.snapshot()) {
        const handle = writer.open(container);
        handle.setQuota(millicores(300));
        t.is(await handle.lowerMemory(bytes(64 * MIB)), 'written');
        handle.close();
      }
      // As the supervisor does it: a new client, nothing known.
      const fresh = new DockerEngine({ managed: (name) => managed.has(name), deadline: DEADLINE });
      const begun = performance.now();
      const report = await restoreAll({ engine: fresh, writer });
      const took = performance.now() - begun;
      fresh.close();
      t.log(`50 containers in ${took.toFixed(0)} ms`);
      t.is(report.restored.length, 50);
      t.true(
        report.restored.every(
          (each) =>
            each.memory === 'written' && each.after.memory === 128 * MIB && each.after.quota === 0,
        ),
      );
      t.true(took < allowed(1000), `${took} ms`);
    } finally {
      await writer.close();
      engine.close();
      await removeContainers(names);
    }
  },
);

test.serial('this suite has compared limits with the kernel', (t) => {
  if (missing(t, dockerAlone)) return;
  t.true(compared > 50, `${compared}`);
});

test("the quota of a group above is the kernel's, also of another group of its name", (t) => {
  if (missing(t, dockerAlone)) return;
  const version = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1;
  const root = version === 2 ? '/sys/fs/cgroup' : '/sys/fs/cgroup/cpu';
  const above = join(root, `gleaner-again-${process.pid}`);
  const directory = join(above, 'container');
  const put = (quota: number): void =>
    writeFileSync(join(above, version === 2 ? 'cpu.max' : 'cpu.cfs_quota_us'), String(quota));
  for (const quota of [50_000, 20_000]) {
    mkdirSync(above);
    if (version === 2) writeFileSync(join(above, 'cgroup.subtree_control'), '+cpu');
    mkdirSync(directory);
    const files = new CpuFiles({ directory, version }, 100_000, new GroupQuotas());
    for (const each of [quota, quota / 2]) {
      put(each);
      t.is(files.ceiling(), each);
    }
    files.close();
    const open = readdirSync('/proc/self/fd').map((fd) => linkOf(`/proc/self/fd/${fd}`));
    t.deepEqual(
      open.filter((path) => path.startsWith(above)),
      [],
      'no file keeps the group',
    );
    rmdirSync(directory);
    rmdirSync(above);
  }
});

/** Where a descriptor leads; empty where it is closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
