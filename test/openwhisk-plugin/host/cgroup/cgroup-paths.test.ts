import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { millis } from '../../../../config/index.js';
import {
  CgroupNamespaceError,
  CgroupNotFoundError,
} from '../../../../openwhisk-plugin/host/cgroup/cgroup-errors.js';
import { MountTable } from '../../../../openwhisk-plugin/host/cgroup/cgroup-mounts.js';
import { resolveCgroups } from '../../../../openwhisk-plugin/host/cgroup/cgroup-paths.js';
import { availableControllers } from '../../../../openwhisk-plugin/host/cgroup/index.js';
import { ManualTime } from '../../../support/manual-time.js';
import { FixtureTree, ID, PID, V2_MOUNT, v1Mount } from './fixture-tree.js';

const CONTROLLERS = 'cpuset cpu io memory pids\n';

test('a v2 scope below system.slice is found for every controller', (t) => {
  const path = `system.slice/docker-${ID}.scope`;
  const tree = new FixtureTree().proc(`0::/${path}`, [V2_MOUNT]);
  tree.write(`sys/fs/cgroup/${path}/cgroup.controllers`, CONTROLLERS);
  tree
    .write(`sys/fs/cgroup/${path}/cgroup.freeze`, '0\n')
    .write(`sys/fs/cgroup/${path}/cpu.stat`, 'usage_usec 0\n');
  const found = resolveCgroups(PID, ID, new MountTable(tree.root));
  const directory = join(tree.root, 'sys/fs/cgroup', path);
  for (const controller of ['cpu', 'cpuacct', 'memory', 'freezer'] as const) {
    t.deepEqual(found[controller], { version: 2, directory });
  }
  t.is(found.unit, `docker-${ID}.scope`);
  tree.remove();
});

test('a rootless scope deep below user.slice is found', (t) => {
  const path = `user.slice/user-1000.slice/user@1000.service/user.slice/docker-${ID}.scope`;
  const tree = new FixtureTree().proc(`0::/${path}`, [V2_MOUNT]);
  tree.write(`sys/fs/cgroup/${path}/cgroup.controllers`, 'memory pids\n');
  const found = resolveCgroups(PID, ID, new MountTable(tree.root));
  t.is(found.memory?.directory, join(tree.root, 'sys/fs/cgroup', path));
  t.is(found.cpu, null, 'no cpu controller was delegated');
  tree.remove();
});

test('v1 hierarchies are found by their mounts, also joined controllers', (t) => {
  const tree = new FixtureTree().proc(
    `12:cpu,cpuacct:/docker/${ID}\n9:memory:/docker/${ID}\n3:freezer:/docker/${ID}\n0::/`,
    [v1Mount('cpu,cpuacct'), v1Mount('memory'), v1Mount('freezer', 'odd\\040place')],
  );
  for (const folder of ['cpu,cpuacct', 'memory', 'odd place']) {
    tree.write(`sys/fs/cgroup/${folder}/docker/${ID}/cgroup.procs`, `${PID}\n`);
  }
  const found = resolveCgroups(PID, ID, new MountTable(tree.root));
  const at = (folder: string): string => join(tree.root, 'sys/fs/cgroup', folder, 'docker', ID);
  t.deepEqual(found.cpu, { version: 1, directory: at('cpu,cpuacct') });
  t.deepEqual(found.cpuacct, { version: 1, directory: at('cpu,cpuacct') });
  t.deepEqual(found.memory, { version: 1, directory: at('memory') });
  t.deepEqual(found.freezer, { version: 1, directory: at('odd place') });
  tree.remove();
});

test('a hybrid host has each controller where it is', (t) => {
  // Memory on v1; the rest of the container's cgroup on the v2 tree.
  const tree = new FixtureTree().proc(`9:memory:/docker/${ID}\n0::/docker/${ID}`, [
    v1Mount('memory'),
    V2_MOUNT.replace('/sys/fs/cgroup rw', '/sys/fs/cgroup/unified rw'),
  ]);
  tree.write(`sys/fs/cgroup/memory/docker/${ID}/memory.stat`, '');
  tree.write(`sys/fs/cgroup/unified/docker/${ID}/cgroup.controllers`, 'cpu\n');
  const found = resolveCgroups(PID, ID, new MountTable(tree.root));
  t.is(found.memory?.version, 1);
  t.deepEqual(found.cpu, {
    version: 2,
    directory: join(tree.root, 'sys/fs/cgroup/unified/docker', ID),
  });
  tree.remove();
});

test('memory on v1 beside an empty v2 path gives memory alone', (t) => {
  const tree = new FixtureTree().proc(`9:memory:/docker/${ID}\n0::/`, [
    v1Mount('memory'),
    V2_MOUNT,
  ]);
  tree.write(`sys/fs/cgroup/memory/docker/${ID}/memory.stat`, '');
  const found = resolveCgroups(PID, ID, new MountTable(tree.root));
  t.is(found.memory?.version, 1);
  t.is(found.cpu, null);
  tree.remove();
});

test('a first process that moved into a group of its own still leads to the container', (t) => {
  const path = `system.slice/docker-${ID}.scope`;
  const tree = new FixtureTree().proc(`0::/${path}/init.scope`, [V2_MOUNT]);
  tree.write(`sys/fs/cgroup/${path}/cgroup.controllers`, CONTROLLERS);
  t.is(
    resolveCgroups(PID, ID, new MountTable(tree.root)).cpu?.directory,
    join(tree.root, 'sys/fs/cgroup', path),
  );
  tree.remove();
});

test('a part of the tree that is mounted elsewhere is found below its mount root', (t) => {
  const mount = `40 31 0:29 /docker /mnt/docker-cpu rw - cgroup cgroup rw,cpu`;
  const tree = new FixtureTree().proc(`2:cpu:/docker/${ID}`, [mount]);
  tree.write(`mnt/docker-cpu/${ID}/cpu.shares`, '128\n');
  t.is(
    resolveCgroups(PID, ID, new MountTable(tree.root)).cpu?.directory,
    join(tree.root, 'mnt/docker-cpu', ID),
  );
  tree.remove();
});

test('a reused pid is not taken for the container', (t) => {
  const tree = new FixtureTree().proc('0::/system.slice/sshd.service', [V2_MOUNT]);
  tree.write('sys/fs/cgroup/system.slice/sshd.service/cgroup.controllers', CONTROLLERS);
  t.throws(() => resolveCgroups(PID, ID, new MountTable(tree.root)), {
    instanceOf: CgroupNotFoundError,
  });
  t.throws(
    () => resolveCgroups(1, ID, new MountTable(tree.root)),
    { instanceOf: CgroupNotFoundError },
    'nor one that does not run',
  );
  tree.remove();
});

test('in a private cgroup namespace the error says how to run instead', (t) => {
  const tree = new FixtureTree().proc(
    `0::/../../system.slice/docker-${ID}.scope`,
    [V2_MOUNT],
    '0::/',
  );
  const error = t.throws(() => resolveCgroups(PID, ID, new MountTable(tree.root)), {
    instanceOf: CgroupNamespaceError,
  });
  t.is(error?.code, 'GLN_CGROUP_NAMESPACE');
  t.regex(error?.hint ?? '', /--cgroupns=host/);
  t.regex(error?.hint ?? '', /sys\/fs\/cgroup:rw/);
  tree.remove();
});

test('a controller that no mounted hierarchy has is not available', (t) => {
  const tree = new FixtureTree()
    .proc('0::/', [V2_MOUNT])
    .write('sys/fs/cgroup/cgroup.controllers', 'memory pids\n');
  t.deepEqual(availableControllers(tree.root), ['memory']);
  tree.write('sys/fs/cgroup/cgroup.controllers', 'cpu memory pids\n');
  t.deepEqual(availableControllers(tree.root), ['cpu', 'memory']);
  // What the kernel knows (`/proc/self/cgroup`) counts for nothing where it is not mounted.
  tree.proc('3:cpu,cpuacct:/\n4:memory:/', [v1Mount('cpu,cpuacct')]);
  t.deepEqual(availableControllers(tree.root), ['cpu']);
  tree.write('proc/self/mountinfo', '');
  t.deepEqual(availableControllers(tree.root), []);
  tree.remove();
});

const otherRoot = '/var/lib/docker/overlay2/65/merged';

test('a hierarchy with several mounts is read where the container is visible', (t) => {
  const v1 = new FixtureTree().proc(`4:cpu,cpuacct:/docker/${ID}\n9:memory:/docker/${ID}`, [
    `33 31 0:29 / ${otherRoot}/sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct`,
    v1Mount('cpu,cpuacct'),
    `34 31 0:30 / ${otherRoot}/sys/fs/cgroup/memory rw - cgroup cgroup rw,memory`,
    v1Mount('memory'),
  ]);
  v1.write(`sys/fs/cgroup/cpu,cpuacct/docker/${ID}/cpu.shares`, '128\n');
  v1.write(`sys/fs/cgroup/memory/docker/${ID}/memory.limit_in_bytes`, '1\n');
  const found = resolveCgroups(PID, ID, new MountTable(v1.root));
  t.is(found.cpu?.directory, join(v1.root, 'sys/fs/cgroup/cpu,cpuacct/docker', ID));
  t.is(found.memory?.directory, join(v1.root, 'sys/fs/cgroup/memory/docker', ID));
  v1.remove();
  // As Calico mounts it for itself: listed first, and not to be seen from here.
  const path = `system.slice/docker-${ID}.scope`;
  const v2 = new FixtureTree().proc(`0::/${path}`, [
    '20 1 0:22 / /run/calico/cgroup rw - cgroup2 none rw',
    V2_MOUNT,
  ]);
  v2.write(`sys/fs/cgroup/${path}/cgroup.controllers`, CONTROLLERS).write(
    'sys/fs/cgroup/cgroup.controllers',
    CONTROLLERS,
  );
  t.is(
    resolveCgroups(PID, ID, new MountTable(v2.root)).cpu?.directory,
    join(v2.root, 'sys/fs/cgroup', path),
  );
  t.deepEqual(availableControllers(v2.root), ['cpu', 'memory']);
  v2.remove();
});

test('of two mounts with that directory, the one that lists the process is used', (t) => {
  // The first shows the tree of an engine in a container, which has its own root; it has kept the
  // folder of an ended container.
  const tree = new FixtureTree().proc(`2:cpu:/docker/${ID}`, [
    `40 31 0:29 / /mnt/inner rw - cgroup cgroup rw,cpu`,
    v1Mount('cpu'),
  ]);
  tree
    .write(`mnt/inner/docker/${ID}/cgroup.procs`, '77\n')
    .write(`sys/fs/cgroup/cpu/docker/${ID}/cgroup.procs`, `1\n${PID}\n`);
  t.is(
    resolveCgroups(PID, ID, new MountTable(tree.root)).cpu?.directory,
    join(tree.root, 'sys/fs/cgroup/cpu/docker', ID),
  );
  tree.remove();
});

test('the kernel’s path is used beside a nested systemd and an engine in a container', (t) => {
  for (const path of [
    `init.scope/system.slice/docker-${ID}.scope`,
    `docker/${'d'.repeat(64)}/docker/${ID}`,
  ]) {
    const tree = new FixtureTree().proc(`4:cpu:/${path}`, [v1Mount('cpu')]);
    tree.write(`sys/fs/cgroup/cpu/${path}/cpu.shares`, '128\n');
    // What a guessed path would find.
    tree.write(`sys/fs/cgroup/cpu/system.slice/docker-${ID}.scope/cpu.shares`, '2\n');
    t.is(
      resolveCgroups(PID, ID, new MountTable(tree.root)).cpu?.directory,
      join(tree.root, 'sys/fs/cgroup/cpu', path),
    );
    tree.remove();
  }
});

const HIDDEN_PROC = '22 1 0:21 / /proc rw,nosuid - proc proc rw,hidepid=invisible,gid=4';

test('with hidepid the cgroups are found by the container id, on v1 and v2', (t) => {
  const scope = `kubepods.slice/kubepods-burstable.slice/pod1.slice/docker-${ID}.scope`;
  const v2 = new FixtureTree().proc('0::/', [HIDDEN_PROC, V2_MOUNT]);
  v2.write(`sys/fs/cgroup/${scope}/cgroup.controllers`, CONTROLLERS);
  // A process that is not shown: /proc/1 is not there.
  const found = resolveCgroups(1, ID, new MountTable(v2.root));
  t.is(found.memory?.directory, join(v2.root, 'sys/fs/cgroup', scope));
  t.is(found.unit, `docker-${ID}.scope`);
  // The next container lies beside it.
  const next = 'beef'.padEnd(64, '1');
  v2.write(`sys/fs/cgroup/${scope.replace(ID, next)}/cgroup.controllers`, CONTROLLERS);
  t.is(
    resolveCgroups(1, next, new MountTable(v2.root)).cpu?.directory,
    join(v2.root, 'sys/fs/cgroup', scope.replace(ID, next)),
  );
  const error = t.throws(() => resolveCgroups(1, 'a'.repeat(64), new MountTable(v2.root)), {
    instanceOf: CgroupNotFoundError,
  });
  t.regex(error?.message ?? '', /hidepid/);
  v2.remove();
  const v1 = new FixtureTree().proc('0::/', [
    HIDDEN_PROC.replace('invisible', '2'),
    v1Mount('cpu,cpuacct'),
    v1Mount('memory'),
  ]);
  for (const folder of ['cpu,cpuacct', 'memory'])
    v1.write(`sys/fs/cgroup/${folder}/docker/${ID}/cgroup.procs`, '0\n');
  const paths = resolveCgroups(1, ID, new MountTable(v1.root));
  t.is(paths.cpu?.directory, join(v1.root, 'sys/fs/cgroup/cpu,cpuacct/docker', ID));
  t.is(paths.cpuacct?.directory, paths.cpu?.directory);
  t.is(paths.memory?.directory, join(v1.root, 'sys/fs/cgroup/memory/docker', ID));
  v1.remove();
});

test('the mounts are read once for many containers, and again for one that is not found', (t) => {
  const elsewhere = V2_MOUNT.replace('/sys/fs/cgroup', '/mnt/cgroup');
  const tree = new FixtureTree().proc(`0::/docker/${ID}`, [elsewhere]);
  t.teardown(() => tree.remove());
  const place = (point: string): string => join(tree.root, point, 'docker', ID);
  tree.write(`mnt/cgroup/docker/${ID}/cgroup.controllers`, CONTROLLERS);
  const time = new ManualTime();
  const table = new MountTable(tree.root, time);
  const cpu = () => resolveCgroups(PID, ID, table).cpu?.directory;
  t.is(cpu(), place('mnt/cgroup'));

  // Nothing is mounted by this file: only a reading that is kept finds the container.
  tree.write('proc/self/mountinfo', '');
  t.is(cpu(), place('mnt/cgroup'));
  t.throws(() => resolveCgroups(1, ID, table), { instanceOf: CgroupNotFoundError });
  t.is(cpu(), place('mnt/cgroup'), 'it is kept when a process has ended');
  time.advance(millis(1000));
  t.throws(cpu, { instanceOf: CgroupNotFoundError }, 'kept for a second');

  tree.write('proc/self/mountinfo', `${elsewhere}\n`);
  t.is(cpu(), place('mnt/cgroup'));
  // The container's hierarchy is mounted elsewhere while the reading is kept.
  rmSync(join(tree.root, 'mnt'), { recursive: true });
  tree.write(`sys/fs/cgroup/docker/${ID}/cgroup.controllers`, CONTROLLERS);
  tree.write('proc/self/mountinfo', `${V2_MOUNT}\n`);
  t.is(cpu(), place('sys/fs/cgroup'));
});
