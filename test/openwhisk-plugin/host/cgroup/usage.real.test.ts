import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { bytes, millicores, millis } from '../../../../config/index.js';
import { emptySample } from '../../../../openwhisk-plugin/decision/index.js';
import { resolveCgroups } from '../../../../openwhisk-plugin/host/cgroup/cgroup-paths.js';
import {
  CgroupLimitWriter,
  CgroupUsageMonitor,
} from '../../../../openwhisk-plugin/host/cgroup/index.js';
import { DockerEngine } from '../../../../openwhisk-plugin/host/docker/index.js';
import type { ContainerInfo } from '../../../../openwhisk-plugin/host/ports/index.js';
import { dockerAlone, missing } from '../../../support/real-parts.js';
import { allowed } from '../../../support/slowness.js';
import {
  containerName,
  docker,
  eventually,
  IDLE,
  nodeImage,
  removeContainers,
  runContainer,
  sleep,
} from './real-containers.js';

const DEADLINE = millis(allowed(5000));

const MIB = 1024 * 1024;

async function withContainer(
  t: ExecutionContext,
  program: string,
  flags: readonly string[],
  body: (
    container: ContainerInfo,
    monitor: CgroupUsageMonitor,
    engine: DockerEngine,
    version: 1 | 2,
  ) => Promise<void>,
): Promise<void> {
  if (missing(t, dockerAlone)) return;
  await nodeImage();
  const name = containerName('usage');
  const engine = new DockerEngine({ managed: (each) => each === name, deadline: DEADLINE });
  const monitor = new CgroupUsageMonitor();
  try {
    await runContainer(name, program, flags);
    const [container] = await engine.snapshot();
    t.truthy(container);
    if (container) await body(container, monitor, engine, (await engine.facts()).cgroupVersion);
  } finally {
    monitor.close();
    engine.close();
    await removeContainers([name]);
  }
}

test.serial(
  'two invocations of 200 MB and 50 MB in one container have peaks of their own',
  async (t) => {
    await withContainer(
      t,
      IDLE,
      ['-m', '512m', '--memory-swap', '512m'],
      async (container, monitor) => {
        const probe = monitor.open(container);
        const sample = emptySample();
        const peakOf = async (megabytes: number): Promise<number> => {
          probe.resetPeak();
          await docker(
            'exec',
            container.name,
            process.execPath,
            '-e',
            `Buffer.alloc(${megabytes} * 1048576, 1)`,
          );
          t.true(probe.sample(sample));
          return sample.peak / MIB;
        };
        const base = await peakOf(0);
        if (base < 0) {
          t.log('THE KERNEL CANNOT RESET A PEAK: unknown, never a wrong one');
          return;
        }
        const large = await peakOf(200);
        const small = await peakOf(50);
        t.log(
          `MiB: empty ${base.toFixed(0)}, 200 MB ${large.toFixed(0)}, 50 MB ${small.toFixed(0)}`,
        );
        // Beside what an empty node takes, within what its garbage collector may hold.
        t.true(Math.abs(large - base - 200) < 20);
        t.true(Math.abs(small - base - 50) < 20);
        probe.close();
      },
    );
  },
);

test.serial(
  'an OOM kill of a child process counts once, and the container continues',
  async (t) => {
    const child =
      "require('child_process').spawn(process.execPath, ['-e', 'Buffer.alloc(150 * 1048576, 1)'])";
    const program = `setTimeout(() => ${child}, 500); ${IDLE}`;
    await withContainer(
      t,
      program,
      ['-m', '128m', '--memory-swap', '128m'],
      async (container, monitor, _engine, version) => {
        const probe = monitor.open(container);
        const sample = emptySample();
        t.true(await eventually(() => probe.sample(sample) && sample.oomKills > 0));
        t.is(sample.oomKills, 1);
        t.true(sample.limitHits > 0);
        t.is(await docker('inspect', '-f', '{{.State.Running}}', container.name), 'true');
        // Docker reports a child's OOM kill only on v2, and not in every version.
        if (version === 1)
          t.is(await docker('inspect', '-f', '{{.State.OOMKilled}}', container.name), 'false');
        probe.close();
      },
    );
  },
);

test.serial('a pause by runc is seen; limits rise during it and hold after it', async (t) => {
  await withContainer(
    t,
    IDLE,
    ['-m', '128m', '--memory-swap', '128m'],
    async (container, monitor, _engine, version) => {
      const { freezer } = resolveCgroups(container.pid, container.id);
      // What `runc pause` writes, and the engine does not know of.
      const file = join(
        freezer?.directory ?? '',
        version === 1 ? 'freezer.state' : 'cgroup.freeze',
      );
      const probe = monitor.open(container);
      const sample = emptySample();
      t.true(probe.sample(sample) && !sample.frozen);
      writeFileSync(file, version === 1 ? 'FROZEN' : '1');
      t.true(await eventually(() => probe.sample(sample) && sample.frozen));
      t.is(await docker('inspect', '-f', '{{.State.Paused}}', container.name), 'false');
      const writer = new CgroupLimitWriter({ cgroupVersion: version });
      const handle = writer.open(container);
      t.is(await handle.lowerMemory(bytes(100 * MIB)), 'refused');
      t.is(handle.raiseMemory(bytes(256 * MIB)), 'written');
      t.is(handle.setQuota(millicores(700)), 'written');
      writeFileSync(file, version === 1 ? 'THAWED' : '0');
      t.true(await eventually(() => probe.sample(sample) && !sample.frozen));
      t.deepEqual(
        { ...handle.expected },
        { shares: 1024, quota: millicores(700), memory: bytes(256 * MIB) },
      );
      await docker('pause', container.name);
      // It is looked for twice a second.
      t.true(
        await eventually(() => probe.sample(sample) && sample.frozen),
        'a pause by the engine is the same',
      );
      await docker('unpause', container.name);
      handle.close();
      probe.close();
      await writer.close();
    },
  );
});

test.serial('a quota that binds shows as throttled periods and as CPU used', async (t) => {
  await withContainer(
    t,
    'for (;;) {}',
    ['--cpus', '0.2', '-m', '128m', '--memory-swap', '128m'],
    async (container, monitor) => {
      const probe = monitor.open(container);
      const before = emptySample();
      const after = emptySample();
      await sleep(300);
      t.true(probe.sample(before));
      // Longer where the first and the last period take long.
      await sleep(allowed(1000));
      t.true(probe.sample(after));
      const cores = (after.cpu - before.cpu) / ((after.at - before.at) * 1000);
      // Never more than its quota and what a period's edge adds; neighbors on a busy machine may
      // keep it from some of it, and from being throttled in some periods. Without a quota it would
      // use a whole core and never be throttled.
      t.true(cores > 0.1 && cores < 0.25, `${cores} cores`);
      const throttled =
        (after.throttledPeriods - before.throttledPeriods) / (after.periods - before.periods);
      t.true(throttled > 0.3, `${throttled} of the periods`);
      t.true(after.waiting >= before.waiting);
      probe.close();
    },
  );
});

test.serial('memory in use on this host is between nothing and all of it', (t) => {
  const monitor = new CgroupUsageMonitor();
  const total = Number(/MemTotal:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;
  const used = monitor.hostMemoryInUse();
  t.true(used > 0 && used < total, `${used} of ${total}`);
  monitor.close();
});

test.serial('a thousand openings leave no descriptor behind, and sampling is cheap', async (t) => {
  await withContainer(t, IDLE, [], async (container, monitor, _engine, version) => {
    const writer = new CgroupLimitWriter({ cgroupVersion: version });
    const descriptors = (): number => readdirSync('/proc/self/fd').length;
    writer.open(container).close();
    const before = descriptors();
    for (let i = 0; i < 1000; i++) {
      writer.open(container).close();
      monitor.open(container).close();
    }
    t.is(descriptors(), before);
    const probe = monitor.open(container);
    const sample = emptySample();
    const times = new Float64Array(2000);
    for (let i = 0; i < times.length; i++) {
      // So that it is read in full, as of a container that runs.
      probe.resetPeak();
      const begun = performance.now();
      probe.sample(sample);
      times[i] = (performance.now() - begun) * 1000;
    }
    times.sort();
    t.log(`one sample: p50 ${times[1000]?.toFixed(1)} us, p99 ${times[1980]?.toFixed(1)} us`);
    // Every 100 ms for each running container: it must stay far below a thousandth of a core.
    t.true((times[1000] as number) < 100);
    probe.close();
    await writer.close();
  });
});
