import { join } from 'node:path';
import test from 'ava';
import {
  availableControllers,
  CgroupNamespaceError,
  CgroupNotFoundError,
  resolveCgroups,
} from '../../../openwhisk-plugin/index.js';
import { FixtureTree, ID, PID, V2_MOUNT, v1Mount } from './fixture-tree.js';

const CONTROLLERS = 'cpuset cpu io memory pids\n';

test('A2-21: a v2 scope below system.slice is found for every controller', (t) => {
  const path = `system.slice/docker-${ID}.scope`;
  const tree = new FixtureTree().proc(`0::/${path}`, [V2_MOUNT]);
  tree.write(`sys/fs/cgroup/${path}/cgroup.controllers`, CONTROLLERS);
  tree.write(`sys/fs/cgroup/${path}/cgroup.freeze`, '0\n').write(`sys/fs/cgroup/${path}/cpu.stat`, 'usage_usec 0\n');
  const found = resolveCgroups(PID, ID, tree.root);
  const directory = join(tree.root, 'sys/fs/cgroup', path);
  for (const controller of ['cpu', 'cpuacct', 'memory', 'freezer'] as const) {
    t.deepEqual(found[controller], { version: 2, directory });
  }
  t.is(found.unit, `docker-${ID}.scope`);
  tree.remove();
});

test('A2-21: a rootless scope deep below user.slice is found', (t) => {
  const path = `user.slice/user-1000.slice/user@1000.service/user.slice/docker-${ID}.scope`;
  const tree = new FixtureTree().proc(`0::/${path}`, [V2_MOUNT]);
  tree.write(`sys/fs/cgroup/${path}/cgroup.controllers`, 'memory pids\n');
  const found = resolveCgroups(PID, ID, tree.root);
  t.is(found.memory?.directory, join(tree.root, 'sys/fs/cgroup', path));
  t.is(found.cpu, null, 'A2-23: no cpu controller was delegated');
  tree.remove();
});

test('A2-21: v1 hierarchies are taken from their mounts, joined controllers and odd mount points too', (t) => {
  const tree = new FixtureTree().proc(
    `12:cpu,cpuacct:/docker/${ID}\n9:memory:/docker/${ID}\n3:freezer:/docker/${ID}\n0::/`,
    [v1Mount('cpu,cpuacct'), v1Mount('memory'), v1Mount('freezer', 'odd\\040place')],
  );
  for (const folder of ['cpu,cpuacct', 'memory', 'odd place']) {
    tree.write(`sys/fs/cgroup/${folder}/docker/${ID}/cgroup.procs`, `${PID}\n`);
  }
  const found = resolveCgroups(PID, ID, tree.root);
  const at = (folder: string): string => join(tree.root, 'sys/fs/cgroup', folder, 'docker', ID);
  t.deepEqual(found.cpu, { version: 1, directory: at('cpu,cpuacct') });
  t.deepEqual(found.cpuacct, { version: 1, directory: at('cpu,cpuacct') });
  t.deepEqual(found.memory, { version: 1, directory: at('memory') });
  t.deepEqual(found.freezer, { version: 1, directory: at('odd place') });
  tree.remove();
});

test('A2-21: a hybrid host has each controller where it is', (t) => {
  // Memory on v1; the rest of the container's cgroup on the v2 tree.
  const tree = new FixtureTree().proc(`9:memory:/docker/${ID}\n0::/docker/${ID}`, [
    v1Mount('memory'),
    V2_MOUNT.replace('/sys/fs/cgroup rw', '/sys/fs/cgroup/unified rw'),
  ]);
  tree.write(`sys/fs/cgroup/memory/docker/${ID}/memory.stat`, '');
  tree.write(`sys/fs/cgroup/unified/docker/${ID}/cgroup.controllers`, 'cpu\n');
  const found = resolveCgroups(PID, ID, tree.root);
  t.is(found.memory?.version, 1);
  t.deepEqual(found.cpu, { version: 2, directory: join(tree.root, 'sys/fs/cgroup/unified/docker', ID) });
  tree.remove();
});

test('A2-21: memory on v1 beside an empty v2 path gives memory alone', (t) => {
  const tree = new FixtureTree().proc(`9:memory:/docker/${ID}\n0::/`, [v1Mount('memory'), V2_MOUNT]);
  tree.write(`sys/fs/cgroup/memory/docker/${ID}/memory.stat`, '');
  const found = resolveCgroups(PID, ID, tree.root);
  t.is(found.memory?.version, 1);
  t.is(found.cpu, null);
  tree.remove();
});

test('a first process that moved into a group of its own still leads to the container', (t) => {
  const path = `system.slice/docker-${ID}.scope`;
  const tree = new FixtureTree().proc(`0::/${path}/init.scope`, [V2_MOUNT]);
  tree.write(`sys/fs/cgroup/${path}/cgroup.controllers`, CONTROLLERS);
  t.is(resolveCgroups(PID, ID, tree.root).cpu?.directory, join(tree.root, 'sys/fs/cgroup', path));
  tree.remove();
});

test('a part of the tree that is mounted elsewhere is found below its mount root', (t) => {
  const mount = `40 31 0:29 /docker /mnt/docker-cpu rw - cgroup cgroup rw,cpu`;
  const tree = new FixtureTree().proc(`2:cpu:/docker/${ID}`, [mount]);
  tree.write(`mnt/docker-cpu/${ID}/cpu.shares`, '128\n');
  t.is(resolveCgroups(PID, ID, tree.root).cpu?.directory, join(tree.root, 'mnt/docker-cpu', ID));
  tree.remove();
});

test('a pid that was handed on to somebody else is not taken for the container', (t) => {
  const tree = new FixtureTree().proc('0::/system.slice/sshd.service', [V2_MOUNT]);
  tree.write('sys/fs/cgroup/system.slice/sshd.service/cgroup.controllers', CONTROLLERS);
  t.throws(() => resolveCgroups(PID, ID, tree.root), { instanceOf: CgroupNotFoundError });
  t.throws(() => resolveCgroups(1, ID, tree.root), { instanceOf: CgroupNotFoundError }, 'nor one that does not run');
  tree.remove();
});

test('A2-22: in a private cgroup namespace the error says how to run instead', (t) => {
  const tree = new FixtureTree().proc(`0::/../../system.slice/docker-${ID}.scope`, [V2_MOUNT], '0::/');
  const error = t.throws(() => resolveCgroups(PID, ID, tree.root), { instanceOf: CgroupNamespaceError });
  t.is(error?.code, 'GLN_CGROUP_NAMESPACE');
  t.regex(error?.hint ?? '', /--cgroupns=host/);
  t.regex(error?.hint ?? '', /sys\/fs\/cgroup:rw/);
  tree.remove();
});

test('A2-23: a controller that no mounted hierarchy has is not available', (t) => {
  const tree = new FixtureTree().proc('0::/', [V2_MOUNT]).write('sys/fs/cgroup/cgroup.controllers', 'memory pids\n');
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
