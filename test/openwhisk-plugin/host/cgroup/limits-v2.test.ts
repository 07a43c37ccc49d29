import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { bytes, millicores } from '../../../../config/index.js';
import { CgroupReadOnlyError } from '../../../../openwhisk-plugin/host/cgroup/cgroup-errors.js';
import {
  CgroupLimitWriter,
  findDrift,
  restoreAll,
} from '../../../../openwhisk-plugin/host/cgroup/index.js';
import type { ScopeProperty } from '../../../../openwhisk-plugin/host/cgroup/systemd-scope.js';
import { openFiles } from '../../../support/open-files.js';
import {
  FixtureTree,
  ID,
  container as info,
  PID,
  V2_MOUNT,
  V2_SCOPE,
  v1Mount,
  v2Tree,
} from './fixture-tree.js';
import { listed } from './listed.js';

const MIB = 1024 * 1024;
const writerOf = (root: string, more = {}) =>
  new CgroupLimitWriter({ root, cgroupVersion: 2, ...more });

test('v2: limits are written in the kernel formats and read back', async (t) => {
  const { tree, at, container } = v2Tree();
  const writer = writerOf(tree.root);
  const handle = writer.open(container);
  t.deepEqual(
    { ...handle.expected },
    { shares: 128, quota: millicores(0), memory: bytes(256 * MIB) },
  );
  t.is(handle.setQuota(millicores(600)), 'written');
  t.is(at('cpu.max'), '60000 100000');
  t.is(handle.setQuota(millicores(600)), 'unchanged');
  t.is(handle.setQuota(millicores(0)), 'written');
  t.is(at('cpu.max'), 'max 100000', 'no limit is max');
  t.is(handle.setShares(256), 'written');
  t.is(at('cpu.weight'), '10');
  t.is(handle.expected.shares, 256);
  t.is(handle.raiseMemory(bytes(512 * MIB)), 'written');
  t.is(at('memory.max'), String(512 * MIB));
  t.is(at('memory.swap.max'), '0', 'no swap comes with a loan');
  t.is(handle.protectMemory(bytes(256 * MIB)), 'written');
  t.is(at('memory.low'), String(256 * MIB));
  t.is(handle.protectMemory(bytes(256 * MIB)), 'unchanged');
  t.is(await handle.lowerMemory(bytes(256 * MIB)), 'written');
  t.is(at('memory.max'), String(256 * MIB));
  handle.close();
  await writer.close();
  tree.remove();
});

test('a container with a file that cannot be opened leaves no file open', async (t) => {
  const files = ['cpu.weight', 'cpu.max', 'cpu.max.burst'];
  for (const name of [...files, 'memory.max', 'memory.swap.max', 'memory.low']) {
    const { tree, container } = v2Tree();
    const path = join(tree.root, V2_SCOPE, name);
    rmSync(path);
    symlinkSync(path, path);
    const writer = writerOf(tree.root);
    t.throws(() => writer.open(container), { instanceOf: CgroupReadOnlyError }, name);
    t.deepEqual(openFiles(tree.root), [], name);
    await writer.close();
    tree.remove();
  }
});

test('a quota is written for the container’s period, and not below the kernel minimum', (t) => {
  const { tree, at, container } = v2Tree();
  const handle = writerOf(tree.root).open(container);
  handle.setQuota(millicores(2000));
  t.is(at('cpu.max'), '200000 100000');
  handle.setQuota(millicores(250));
  t.is(at('cpu.max'), '25000 100000');
  handle.setQuota(millicores(0.1));
  t.is(at('cpu.max'), '1000 100000');
  handle.close();
  tree.remove();
});

test('on v2 a limit below the use is not written at all', async (t) => {
  const { tree, at, container } = v2Tree({ 'memory.current': `${180 * MIB}\n` });
  const writer = writerOf(tree.root);
  const handle = writer.open(container);
  t.is(await handle.lowerMemory(bytes(128 * MIB)), 'refused');
  t.is(at('memory.max'), String(256 * MIB));
  t.is(handle.expected.memory as number, 256 * MIB);
  handle.close();
  await writer.close();
  tree.remove();
});

test('the ratio is kept whatever the period', (t) => {
  const { tree, at, container } = v2Tree({ 'cpu.max': '500000 1000000\n' });
  const handle = writerOf(tree.root).open(container);
  t.is(handle.expected.quota as number, 500);
  t.is(handle.setQuota(millicores(600)), 'written');
  t.is(at('cpu.max'), '600000 1000000');
  handle.close();
  tree.remove();
});

test('the burst is lowered before the quota', (t) => {
  const { tree, at, container } = v2Tree({
    'cpu.max': '200000 100000\n',
    'cpu.max.burst': '100000\n',
  });
  const handle = writerOf(tree.root).open(container);
  t.is(handle.setQuota(millicores(500)), 'written');
  t.is(at('cpu.max.burst'), '50000');
  t.is(at('cpu.max'), '50000 100000');
  handle.close();
  tree.remove();
});

test('a quota is not above that of a group over the container', (t) => {
  const { tree, at, container } = v2Tree();
  tree.write('sys/fs/cgroup/system.slice/cpu.max', '150000 100000\n');
  const handle = writerOf(tree.root).open(container);
  t.is(handle.setQuota(millicores(2000)), 'written');
  t.is(at('cpu.max'), '150000 100000');
  t.is(handle.expected.quota as number, 1500);
  handle.close();
  tree.remove();
});

test('weights are proportional to the runtime’s, and its own weight stays unchanged', (t) => {
  for (const [weight, sixteenfold] of [
    ['5', '80'],
    ['21', '336'],
  ] as const) {
    const { tree, at, container } = v2Tree({ 'cpu.weight': `${weight}\n` });
    const handle = writerOf(tree.root).open(container);
    t.is(handle.setShares(128), 'unchanged');
    t.is(handle.setShares(2048), 'written');
    t.is(at('cpu.weight'), sixteenfold);
    t.is(handle.setShares(128), 'written');
    t.is(at('cpu.weight'), weight);
    handle.close();
    tree.remove();
  }
});

test('without a cpu controller memory is still set', (t) => {
  const { tree, container } = v2Tree({
    'cgroup.controllers': 'memory pids\n',
    'cpu.weight': '',
    'cpu.max': '',
  });
  const handle = writerOf(tree.root).open(container);
  t.is(handle.setQuota(millicores(500)), 'unsupported');
  t.is(handle.setShares(500), 'unsupported');
  t.is(handle.raiseMemory(bytes(300 * MIB)), 'written');
  handle.close();
  tree.remove();
});

test('without quota files (no CONFIG_CFS_BANDWIDTH) weights are set and restored', (t) => {
  const v1 = new FixtureTree().proc(`4:cpu,cpuacct:/docker/${ID}\n9:memory:/docker/${ID}`, [
    v1Mount('cpu,cpuacct'),
    v1Mount('memory'),
  ]);
  v1.write(`sys/fs/cgroup/cpu,cpuacct/docker/${ID}/cpu.shares`, '128\n');
  v1.write(`sys/fs/cgroup/memory/docker/${ID}/memory.limit_in_bytes`, `${256 * MIB}\n`);
  const v2 = v2Tree({ 'cpu.max': '', 'cpu.max.burst': '' });
  for (const [root, path, doubled, user] of [
    [v1.root, `sys/fs/cgroup/cpu,cpuacct/docker/${ID}/cpu.shares`, '256', '128'],
    // Twice the weight 5 that runc gave for 128 shares.
    [v2.tree.root, `${V2_SCOPE}/cpu.weight`, '10', '5'],
  ] as const) {
    const handle = writerOf(root).open(info());
    const at = (): string => (root === v1.root ? v1 : v2.tree).line(path);
    t.is(handle.setShares(256), 'written');
    t.is(at(), doubled);
    t.is(handle.setQuota(millicores(500)), 'unsupported');
    t.is(handle.raiseMemory(bytes(300 * MIB)), 'written');
    t.is(handle.expected.quota as number, 0);
    t.is(findDrift(handle, { shares: 0, quota: millicores(0), memory: bytes(0) }), 'none');
    t.is(handle.setShares(128), 'written');
    t.is(at(), user);
    handle.close();
  }
  v1.remove();
  v2.tree.remove();
});

test('a limit that another program changed is found and written again', (t) => {
  const { tree, at, put, container } = v2Tree();
  const handle = writerOf(tree.root).open(container);
  handle.setQuota(millicores(500));
  const found = { shares: 0, quota: millicores(0), memory: bytes(0) };
  t.is(findDrift(handle, found), 'none');
  put('cpu.max', 'max 100000\n');
  t.is(findDrift(handle, found), 'limits');
  t.deepEqual(found, { shares: 128, quota: millicores(0), memory: bytes(256 * MIB) });
  t.is(handle.setQuota(handle.expected.quota), 'written');
  t.is(at('cpu.max'), '50000 100000');
  t.is(findDrift(handle, found), 'none');
  handle.close();
  tree.remove();
});

/**
 * A systemd that does what systemd 252 and 257 do (seen in guests): at any change of a scope's
 * properties it writes every limit that it knows, and what it does not know as no limit. The
 * runtime told it the memory limit and the weight, and no swap limit where that is 0.
 */
function systemdOver(put: (name: string, text: string) => void) {
  const known: Record<string, number> = {
    MemoryMax: 256 * MIB,
    MemorySwapMax: Number.POSITIVE_INFINITY,
    MemoryLow: 0,
  };
  const calls: string[][] = [];
  const word = (value: number | undefined): string =>
    value === Number.POSITIVE_INFINITY ? 'max\n' : `${value}\n`;
  const apply = (): void => {
    put('cpu.max', 'max 100000\n');
    put('cpu.weight', '5\n');
    put('memory.max', word(known.MemoryMax));
    put('memory.swap.max', word(known.MemorySwapMax));
    put('memory.low', word(known.MemoryLow));
  };
  const set = async (unit: string, properties: readonly ScopeProperty[]): Promise<void> => {
    calls.push([unit, ...properties.map(({ name, bytes }) => `${name}=${bytes}`)]);
    for (const { name, bytes } of properties) known[name] = bytes;
    await new Promise((resolve) => setImmediate(resolve));
    apply();
  };
  return { scopes: { set }, calls, reload: apply };
}

const anyLimits = () => ({ shares: 0, quota: millicores(0), memory: bytes(0) });

test('swap that systemd gave back is found, removed, and stays removed', async (t) => {
  const { tree, at, put, container } = v2Tree();
  const { scopes, calls, reload } = systemdOver(put);
  const writer = writerOf(tree.root, { scopes });
  const handle = writer.open(container);
  reload();
  t.is(at('memory.swap.max'), 'max');
  t.is(findDrift(handle, anyLimits()), 'swap');
  t.is(handle.repairSwap(), 'written');
  t.is(at('memory.swap.max'), '0');
  await writer.settled();
  t.is(findDrift(handle, anyLimits()), 'none');
  t.deepEqual(calls, [
    [`docker-${ID}.scope`, `MemoryMax=${256 * MIB}`, 'MemorySwapMax=0', 'MemoryLow=0'],
  ]);
  reload();
  t.is(at('memory.swap.max'), '0');
  handle.close();
  tree.remove();
});

test('systemd always gets the user swap limit too, also if the hook stops at once', async (t) => {
  const { tree, at, put, container } = v2Tree();
  const { scopes, calls, reload } = systemdOver(put);
  const writer = writerOf(tree.root, { scopes });
  const handle = writer.open(container);
  t.is(handle.protectMemory(bytes(256 * MIB)), 'written');
  await writer.settled();
  t.is(at('memory.swap.max'), '0');
  t.is(handle.protectMemory(bytes(0)), 'written');
  handle.close();
  await writer.settled();
  t.deepEqual(
    [at('memory.swap.max'), at('memory.low'), at('memory.max')],
    ['0', '0', String(256 * MIB)],
  );
  reload();
  t.deepEqual(
    [at('memory.swap.max'), at('memory.low'), at('memory.max')],
    ['0', '0', String(256 * MIB)],
  );
  for (const call of calls)
    t.regex(call.join(' '), /MemoryMax=.* MemorySwapMax=0 MemoryLow=/, 'all three or none');
  tree.remove();
});

test('CPU limits that systemd resets with memory are rewritten and are no drift', async (t) => {
  const { tree, at, put, container } = v2Tree();
  let undone: (() => void) | null = null;
  const { scopes } = systemdOver((name, text) => {
    put(name, text);
    if (name === 'memory.low') undone?.();
  });
  const writer = writerOf(tree.root, { scopes });
  const handle = writer.open(container);
  t.is(handle.setQuota(millicores(300)), 'written');
  t.is(handle.setShares(512), 'written');
  const seen: string[] = [];
  undone = () => seen.push(at('cpu.max'), at('cpu.weight'), findDrift(handle, anyLimits()));
  t.is(await handle.lowerMemory(bytes(128 * MIB)), 'written');
  await writer.settled();
  t.deepEqual(seen, ['max 100000', '5', 'none']);
  // Four times the weight 5 of 128 shares is 20: neither formula makes it of 128 shares.
  t.deepEqual(
    [at('cpu.max'), at('cpu.weight'), at('memory.max')],
    ['30000 100000', '20', String(128 * MIB)],
  );
  t.is(findDrift(handle, anyLimits()), 'none');
  handle.close();
  await writer.close();
  tree.remove();
});

test('a quota that changes while systemd is at work is the newest afterwards', async (t) => {
  const { tree, at, put, container } = v2Tree();
  const { scopes } = systemdOver(put);
  const writer = writerOf(tree.root, { scopes });
  const handle = writer.open(container);
  handle.setQuota(millicores(300));
  handle.protectMemory(bytes(256 * MIB));
  handle.setQuota(millicores(700));
  await writer.settled();
  t.is(at('cpu.max'), '70000 100000');
  handle.protectMemory(bytes(0));
  handle.setQuota(millicores(0));
  await writer.settled();
  t.is(at('cpu.max'), 'max 100000');
  handle.close();
  tree.remove();
});

test('systemd gets one change at a time, the newest, and a raise stays in force', async (t) => {
  const { tree, at, put, container } = v2Tree();
  const { scopes, calls } = systemdOver(put);
  const writer = writerOf(tree.root, { scopes });
  const handle = writer.open(container);
  handle.setQuota(millicores(500));
  handle.setShares(300);
  t.deepEqual(calls, [], 'a quota and a weight are not told');
  handle.raiseMemory(bytes(300 * MIB));
  handle.raiseMemory(bytes(400 * MIB));
  handle.raiseMemory(bytes(512 * MIB));
  handle.protectMemory(bytes(256 * MIB));
  t.is(calls.length, 1, 'one call at a time');
  t.is(
    await handle.lowerMemory(bytes(384 * MIB)),
    'written',
    'after systemd, which would write an older limit without a look at the use',
  );
  await writer.settled();
  const unit = `docker-${ID}.scope`;
  t.deepEqual(calls, [
    [unit, `MemoryMax=${300 * MIB}`, 'MemorySwapMax=0', 'MemoryLow=0'],
    [unit, `MemoryMax=${512 * MIB}`, 'MemorySwapMax=0', `MemoryLow=${256 * MIB}`],
    [unit, `MemoryMax=${384 * MIB}`, 'MemorySwapMax=0', `MemoryLow=${256 * MIB}`],
  ]);
  t.is(at('memory.max'), String(384 * MIB));
  handle.close();
  await writer.close();
  tree.remove();
});

test('a scope that systemd refuses is told, and the limit in the kernel stands', async (t) => {
  const { tree, at, container } = v2Tree();
  const failures: unknown[] = [];
  const scopes = { set: () => Promise.reject(new Error('Unit not found')) };
  const writer = writerOf(tree.root, { scopes });
  writer.onScopeFailure((_, error) => void failures.push(error));
  const handle = writer.open(container);
  t.is(handle.raiseMemory(bytes(300 * MIB)), 'written');
  await writer.settled();
  t.is(failures.length, 1);
  t.is(at('memory.max'), String(300 * MIB));
  handle.close();
  tree.remove();
});

const record = (name: string, value: string) =>
  [
    `run/systemd/transient/docker-${ID}.scope.d/50-${name}.conf`,
    `# This is a drop-in unit file extension, created via "systemctl set-property"\n` +
      `[Scope]\n${name}=${value}\n`,
  ] as const;

test('properties that a killed hook gave systemd are restored in any case', async (t) => {
  const { tree, put, container } = v2Tree();
  const { scopes, calls } = systemdOver(put);
  tree
    .write(...record('MemoryMax', String(256 * MIB)))
    .write(...record('MemoryLow', String(256 * MIB)));
  const writer = writerOf(tree.root, { scopes });
  await restoreAll({ engine: listed([container]), writer });
  t.deepEqual(calls, [
    [`docker-${ID}.scope`, `MemoryMax=${256 * MIB}`, 'MemorySwapMax=0', 'MemoryLow=0'],
  ]);
  tree.write(...record('MemoryLow', '0')).write(...record('MemorySwapMax', '0'));
  await restoreAll({ engine: listed([container]), writer });
  t.is(calls.length, 1, 'systemd knows the user limits now, and is left alone');
  await writer.close();
  tree.remove();
});

test('the user weight of a pod is the one that kubelet gave systemd', async (t) => {
  const uid = '0b1c-2d';
  const slice = 'kubepods-burstable-pod0b1c_2d.slice';
  const pod = `kubepods.slice/kubepods-burstable.slice/${slice}`;
  const scope = `${pod}/cri-containerd-${ID}.scope`;
  const tree = new FixtureTree().proc(`0::/${scope}`, [V2_MOUNT]);
  const weightOf = (group: string): string => tree.line(`sys/fs/cgroup/${group}/cpu.weight`);
  for (const group of [pod, scope])
    tree
      .write(`sys/fs/cgroup/${group}/cgroup.controllers`, 'cpu memory\n')
      .write(`sys/fs/cgroup/${group}/cpu.max`, 'max 100000\n')
      .write(`sys/fs/cgroup/${group}/memory.max`, `${256 * MIB}\n`);
  // runc's older formula, 1 + 100 * 9999 / 262142; left behind; kubelet's newer formula.
  tree.write(`sys/fs/cgroup/${scope}/cpu.weight`, '4\n');
  tree.write(`sys/fs/cgroup/${pod}/cpu.weight`, '300\n');
  tree.write(`run/systemd/transient/${slice}`, '[Slice]\nCPUWeight=17\n');
  const found = info({ shares: 102 });
  const container = { ...found, pod: { uid, user: found.user } };
  const writer = writerOf(tree.root, { scopes: { set: async () => undefined } });
  const handle = writer.open(container);
  t.is(handle.setShares(204), 'written');
  t.is(weightOf(pod), '34');
  t.is(handle.setShares(102), 'written');
  t.is(weightOf(pod), '17');
  t.is(weightOf(scope), '4');
  handle.close();
  await writer.close();
  tree.remove();
});

test('the user weight is the one the runtime gave systemd, whatever the file has', async (t) => {
  for (const [recorded, left] of [
    ['5', '21'],
    ['21', '5'],
    // A formula that is not known here.
    ['17', '336'],
  ] as const) {
    const { tree, at, container } = v2Tree({ 'cpu.weight': `${left}\n` });
    tree
      .write(`run/systemd/transient/docker-${ID}.scope`, '[Scope]\nSlice=system.slice\n')
      .write(...record('CPUWeight', recorded));
    const writer = writerOf(tree.root, { scopes: { set: async () => undefined } });
    await restoreAll({ engine: listed([container]), writer });
    t.is(at('cpu.weight'), recorded);
    const handle = writer.open(container);
    t.is(handle.setShares(2048), 'written');
    t.is(at('cpu.weight'), String(16 * Number(recorded)));
    handle.close();
    await writer.close();
    tree.remove();
  }
});

test('limits that a killed hook left are read when the container is opened', (t) => {
  // Weight 3 beside 5 for 128 shares: 76.8; the quota and the memory as they stand.
  const { tree, container } = v2Tree({
    'cpu.weight': '3\n',
    'cpu.max': '30000 100000\n',
    'memory.max': `${128 * MIB}\n`,
  });
  const handle = writerOf(tree.root).open(container);
  t.deepEqual(
    { ...handle.expected },
    { shares: 76.8, quota: millicores(300), memory: bytes(128 * MIB) },
  );
  t.is(handle.setShares(128), 'written');
  t.is(handle.expected.shares, 128);
  handle.close();
  tree.remove();
});

test('a container without shares has the kernel default and shows no formula', async (t) => {
  const plain = 'b'.repeat(64);
  const path = `system.slice/docker-${plain}.scope`;
  const { tree, at, container } = v2Tree({ 'cpu.weight': '80\n' });
  tree
    .write('proc/77/cgroup', `0::/${path}\n`)
    .write(`sys/fs/cgroup/${path}/cgroup.controllers`, 'cpu memory\n');
  tree
    .write(`sys/fs/cgroup/${path}/cpu.weight`, '100\n')
    .write(`sys/fs/cgroup/${path}/cpu.max`, 'max 100000\n');
  const unset = {
    ...info({ shares: 1024, sharesUnset: true, memory: bytes(0), memoryAndSwap: bytes(0) }),
    id: plain,
    pid: 77,
  };
  const writer = writerOf(tree.root);
  // Both orders: whichever is opened last must not change what the other is restored to.
  for (const containers of [
    [container, unset],
    [unset, container],
  ]) {
    tree
      .write(`${V2_SCOPE}/cpu.weight`, '80\n')
      .write(`sys/fs/cgroup/${path}/cpu.weight`, '1600\n');
    await restoreAll({ engine: listed(containers), writer });
    t.is(at('cpu.weight'), '5', 'the linear formula, which is the default');
    t.is(tree.line(`sys/fs/cgroup/${path}/cpu.weight`), '100');
  }
  await writer.close();
  tree.remove();
});

test('a weight that Gleaner left is not taken for the other formula’s weight', async (t) => {
  // 128 shares are 5 or 21. 538 shares beside 128 of weight 5 would be weight 21, which the curved
  // formula makes of 128 shares.
  const { tree, at, container } = v2Tree();
  const writer = writerOf(tree.root);
  const killed = writer.open(container);
  t.is(killed.setShares(538), 'written');
  t.is(at('cpu.weight'), '22');
  killed.close();
  const fresh = writerOf(tree.root);
  await restoreAll({ engine: listed([container]), writer: fresh });
  t.is(at('cpu.weight'), '5');
  await writer.close();
  await fresh.close();
  tree.remove();
});

test('a paused container may be raised and restored, but not lowered', async (t) => {
  const { tree, container } = v2Tree({ 'cgroup.freeze': '1\n' });
  const writer = writerOf(tree.root);
  const handle = writer.open(container);
  t.is(await handle.lowerMemory(bytes(128 * MIB)), 'refused');
  t.is(handle.raiseMemory(bytes(512 * MIB)), 'written');
  t.is(await handle.lowerMemory(bytes(256 * MIB)), 'written');
  handle.close();
  await writer.close();
  tree.remove();
});

test('a hybrid host is one handle: quota on v2, memory on v1', async (t) => {
  const tree = new FixtureTree().proc(`9:memory:/docker/${ID}\n0::/docker/${ID}`, [
    v1Mount('memory'),
    V2_MOUNT.replace('/sys/fs/cgroup rw', '/sys/fs/cgroup/unified rw'),
  ]);
  const memory = `sys/fs/cgroup/memory/docker/${ID}`;
  const unified = `sys/fs/cgroup/unified/docker/${ID}`;
  tree.write(`${unified}/cgroup.controllers`, 'cpu\n').write(`${unified}/cpu.weight`, '5\n');
  tree.write(`${unified}/cpu.max`, 'max 100000\n');
  tree.write(`${memory}/memory.limit_in_bytes`, `${256 * MIB}\n`);
  tree.write(`${memory}/memory.memsw.limit_in_bytes`, `${256 * MIB}\n`);
  const handle = writerOf(tree.root).open(info());
  t.is(handle.setQuota(millicores(500)), 'written');
  t.is(handle.setShares(2048), 'written');
  t.is(handle.raiseMemory(bytes(300 * MIB)), 'written');
  t.is(tree.line(`${unified}/cpu.max`), '50000 100000');
  t.is(tree.line(`${memory}/memory.memsw.limit_in_bytes`), String(300 * MIB));
  handle.close();
  tree.remove();
});

test('v1 prints no limit as a number near 2^63, and that is no limit', (t) => {
  const tree = new FixtureTree().proc(`9:memory:/docker/${ID}`, [v1Mount('memory')]);
  const memory = `sys/fs/cgroup/memory/docker/${ID}`;
  tree.write(`${memory}/memory.limit_in_bytes`, '9223372036854771712\n');
  tree.write(`${memory}/memory.memsw.limit_in_bytes`, '9223372036854771712\n');
  const handle = writerOf(tree.root).open(info({ memory: bytes(0), memoryAndSwap: bytes(0) }));
  t.is(handle.expected.memory as number, 0);
  t.is(handle.raiseMemory(bytes(512 * MIB)), 'refused', 'it would be a reduction');
  t.is(handle.raiseMemory(bytes(0)), 'unchanged');
  t.is(handle.setQuota(millicores(100)), 'unsupported');
  handle.close();
  tree.remove();
});

test('restoring puts back what a hook left, and says what it found', async (t) => {
  const { tree, at, container } = v2Tree({
    'cpu.max': '30000 100000\n',
    'cpu.weight': '80\n',
    'memory.max': `${512 * MIB}\n`,
  });
  const writer = writerOf(tree.root);
  const ended = { ...container, id: 'd'.repeat(64), pid: PID + 1 };
  const engine = listed([container, ended], [container]);
  const report = await restoreAll({ engine, writer });
  t.is(report.restored.length, 1, 'the one that ended meanwhile is left out');
  t.deepEqual(report.failed, []);
  t.is(report.restored[0]?.before.memory as number, 512 * MIB);
  t.deepEqual(
    [at('cpu.max'), at('cpu.weight'), at('memory.max')],
    ['max 100000', '5', String(256 * MIB)],
  );
  await writer.close();
  tree.remove();
});

test('the margin is for what lies below the user limit: going back to it needs none', async (t) => {
  const { tree, container } = v2Tree({
    'memory.max': `${512 * MIB}\n`,
    'memory.current': `${250 * MIB}\n`,
  });
  const writer = writerOf(tree.root, { margin: 0.25 });
  const handle = writer.open(container);
  t.is(await handle.lowerMemory(bytes(256 * MIB)), 'written');
  t.is(await handle.lowerMemory(bytes(252 * MIB)), 'refused');
  handle.close();
  await writer.close();
  tree.remove();
});

test('a container that was left alone shows which weight to restore for another', async (t) => {
  const path = (id: string): string => `system.slice/docker-${id}.scope`;
  const left = 'b'.repeat(64);
  const { tree, at, container } = v2Tree({ 'cpu.weight': '336\n' });
  // 1024 shares are 100 in the curved formula only; it is listed after the one that needs it.
  tree.write('proc/77/cgroup', `0::/${path(left)}\n`);
  tree.write(`sys/fs/cgroup/${path(left)}/cgroup.controllers`, 'cpu memory\n');
  tree
    .write(`sys/fs/cgroup/${path(left)}/cpu.weight`, '100\n')
    .write(`sys/fs/cgroup/${path(left)}/cpu.max`, 'max 100000\n');
  const other = { ...info({ shares: 1024 }), id: left, pid: 77 };
  const writer = writerOf(tree.root);
  await restoreAll({ engine: listed([container, other]), writer });
  t.is(at('cpu.weight'), '21');
  t.is(tree.line(`sys/fs/cgroup/${path(left)}/cpu.weight`), '100');
  await writer.close();
  tree.remove();
});

test('a limit between two pages is no drift', (t) => {
  const { tree, container } = v2Tree();
  const handle = writerOf(tree.root).open(container);
  const found = { shares: 0, quota: millicores(0), memory: bytes(0) };
  for (const size of [256 * MIB + 8192, 300 * MIB + 12_345, 300 * MIB + 70_000]) {
    t.not(handle.raiseMemory(bytes(size)), 'refused');
    t.is(findDrift(handle, found), 'none');
  }
  handle.close();
  tree.remove();
});

test('restoring leaves a loan that is in use, since taking it back would kill', async (t) => {
  const { tree, at, container } = v2Tree({
    'memory.max': `${512 * MIB}\n`,
    'memory.current': `${300 * MIB}\n`,
    'memory.low': `${256 * MIB}\n`,
  });
  const writer = writerOf(tree.root);
  const report = await restoreAll({ engine: listed([container]), writer });
  t.is(report.restored[0]?.memory, 'refused');
  t.is(at('memory.max'), String(512 * MIB));
  t.is(at('memory.low'), '0');
  await writer.close();
  tree.remove();
});

test('a limit file that may not be written says how to run instead', (t) => {
  // A folder in the file's place: it cannot be opened for writing, not even by root.
  const { tree, container } = v2Tree({ 'memory.low': '' });
  tree.write(`${V2_SCOPE}/memory.low/x`, '');
  const error = t.throws(() => writerOf(tree.root).open(container), {
    instanceOf: CgroupReadOnlyError,
  });
  t.regex(error?.hint ?? '', /rw/);
  tree.remove();
});
