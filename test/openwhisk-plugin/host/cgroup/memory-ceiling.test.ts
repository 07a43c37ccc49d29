import { dirname, join } from 'node:path';
import { testProp } from '@fast-check/ava';
import test from 'ava';
import fc from 'fast-check';
import { bytes } from '../../../../config/index.js';
import { CgroupLimitWriter } from '../../../../openwhisk-plugin/host/cgroup/index.js';
import { memoryCeiling } from '../../../../openwhisk-plugin/host/cgroup/memory-ceiling.js';
import { FixtureTree, ID, container as info, V2_SCOPE, v1Mount, v2Tree } from './fixture-tree.js';

const MIB = 1024 * 1024;
const MAX = 'max';
const SLICE = dirname(V2_SCOPE);

/**
 * Groups by path below the root of a v2 tree: limit in MiB; processes live in those that end with
 * `*`.
 */
function groups(limits: Record<string, number | typeof MAX>) {
  const tree = new FixtureTree();
  for (const [name, limit] of Object.entries(limits)) {
    const path = name.replace('*', '');
    tree.write(`${path}/memory.max`, `${limit === MAX ? MAX : limit * MIB}\n`);
    tree.write(`${path}/cgroup.procs`, name.endsWith('*') ? '7\n' : '');
  }
  const ceiling = (path: string, guarantees: Record<string, number> = {}): number =>
    memoryCeiling(join(tree.root, path), 2, (directory) => {
      const of = guarantees[directory.slice(tree.root.length + 1)];
      return of === undefined ? undefined : of * MIB;
    }) / MIB;
  return { tree, ceiling };
}

test('a container may use what each ancestor group has left after its other promises', (t) => {
  // 300 for all: the neighbor's 150 are its own, so 150 are left, which is the container's limit:
  // no loan.
  t.is(groups({ a: 300, 'a/c*': 150, 'a/n*': 150 }).ceiling('a/c'), 150);
  t.is(groups({ a: 400, 'a/c*': 150, 'a/n*': 150 }).ceiling('a/c'), 250);
  t.is(groups({ a: MAX, 'a/c*': 150, 'a/n*': 150 }).ceiling('a/c'), Number.POSITIVE_INFINITY);
  // A neighbor that was lowered may have its user's limit back at any time.
  t.is(groups({ a: 400, 'a/c*': 150, 'a/n*': 50 }).ceiling('a/c', { 'a/n': 150 }), 250);
  // One that has a loan keeps it.
  t.is(groups({ a: 400, 'a/c*': 150, 'a/n*': 200 }).ceiling('a/c', { 'a/n': 150 }), 200);
  // A process without a limit may take everything.
  t.is(groups({ a: 400, 'a/c*': 150, 'a/n*': MAX }).ceiling('a/c'), Number.NEGATIVE_INFINITY);
  // A folder that was left behind takes nothing.
  t.is(groups({ a: 400, 'a/c*': 150, 'a/n': MAX }).ceiling('a/c'), 400);
});

test('the limits of all ancestor groups count, and so do all their other children', (t) => {
  // g: 500 - (p/n 100 + q 200) = 200; p has no limit.
  t.is(
    groups({ g: 500, 'g/p': MAX, 'g/p/c*': 100, 'g/p/n*': 100, 'g/q*': 200 }).ceiling('g/p/c'),
    200,
  );
  // The tighter of both: p leaves 150 - 100 = 50, g leaves 200.
  t.is(
    groups({ g: 500, 'g/p': 150, 'g/p/c*': 100, 'g/p/n*': 100, 'g/q*': 450 }).ceiling('g/p/c'),
    -50,
  );
  t.is(
    groups({ g: 500, 'g/p': 250, 'g/p/c*': 100, 'g/p/n*': 100, 'g/q*': 200 }).ceiling('g/p/c'),
    150,
  );
  // p can never use more than 250, which g has beside q: g bounds nothing, however much p promises.
  t.is(
    groups({ g: 500, 'g/p': 250, 'g/p/c*': 100, 'g/p/n*': 100, 'g/q*': 250 }).ceiling('g/p/c'),
    150,
  );
  // A group without a limit promises what its containers are promised.
  t.is(
    groups({ g: 500, 'g/c*': 100, 'g/q': MAX, 'g/q/x*': 120, 'g/q/y*': 130 }).ceiling('g/c'),
    250,
  );
});

testProp(
  'no loan up to the ceiling lets a group promise more than it has, unless it did before',
  [
    fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
    fc.integer({ min: 1, max: 1000 }),
  ],
  (t, siblings, limit) => {
    const tree: Record<string, number> = { a: limit, 'a/c*': 1 };
    siblings.forEach((sibling, index) => {
      tree[`a/n${index}*`] = sibling;
    });
    const others = siblings.reduce((sum, each) => sum + each, 0);
    const { tree: files, ceiling } = groups(tree);
    t.is(others + ceiling('a/c'), limit);
    files.remove();
  },
);

test('a raise is refused if an ancestor group promised the memory, on v1 and v2', async (t) => {
  const two = v2Tree();
  const other = 'b'.repeat(64);
  two.tree
    .write(`${SLICE}/memory.max`, `${600 * MIB}\n`)
    .write(`${SLICE}/docker-${other}.scope/memory.max`, `${256 * MIB}\n`);
  two.tree.write(`${SLICE}/docker-${other}.scope/cgroup.procs`, '9\n');
  const one = new FixtureTree().proc(`9:memory:/wsk/${ID}`, [v1Mount('memory')]);
  const wsk = 'sys/fs/cgroup/memory/wsk';
  one
    .write(`${wsk}/memory.limit_in_bytes`, `${600 * MIB}\n`)
    .write('sys/fs/cgroup/memory/memory.limit_in_bytes', '9223372036854771712\n');
  for (const id of [ID, other])
    one
      .write(`${wsk}/${id}/memory.limit_in_bytes`, `${256 * MIB}\n`)
      .write(`${wsk}/${id}/cgroup.procs`, '9\n');
  one
    .write(`${wsk}/${ID}/memory.usage_in_bytes`, `${40 * MIB}\n`)
    .write(`${wsk}/${ID}/memory.stat`, 'total_inactive_file 0\n');
  one.write(`${wsk}/${ID}/memory.oom_control`, 'oom_kill 0\n');
  for (const [root, version] of [
    [one.root, 1],
    [two.tree.root, 2],
  ] as const) {
    const writer = new CgroupLimitWriter({ root, cgroupVersion: version });
    const handle = writer.open(info());
    // 600 - 256 = 344.
    t.is(handle.memoryCeiling() as number, 344 * MIB);
    t.is(handle.raiseMemory(bytes(400 * MIB)), 'refused');
    t.is(handle.raiseMemory(bytes(344 * MIB)), 'written');
    // The user's own limit is given back whatever the groups over it promise.
    t.is(await handle.lowerMemory(bytes(100 * MIB)), 'written');
    const narrowed = version === 1 ? one : two.tree;
    narrowed.write(
      version === 1 ? `${wsk}/memory.limit_in_bytes` : `${SLICE}/memory.max`,
      `${300 * MIB}\n`,
    );
    t.is(handle.raiseMemory(bytes(200 * MIB)), 'written');
    t.is(handle.raiseMemory(bytes(256 * MIB)), 'written');
    handle.close();
    await writer.close();
  }
  one.remove();
  two.tree.remove();
});

test('v2: memory.high of an ancestor counts as its limit, because it throttles above', (t) => {
  const { tree, container } = v2Tree();
  tree.write(`${SLICE}/memory.max`, 'max\n').write(`${SLICE}/memory.high`, `${300 * MIB}\n`);
  const handle = new CgroupLimitWriter({ root: tree.root, cgroupVersion: 2 }).open(container);
  t.is(handle.memoryCeiling() as number, 300 * MIB);
  handle.close();
  tree.remove();
});
