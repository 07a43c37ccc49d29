import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { SiblingWeights } from '../../../../openwhisk-plugin/host/cgroup/sibling-weights.js';

const root = mkdtempSync(join(tmpdir(), 'siblings-'));
test.after.always(() => rmSync(root, { recursive: true, force: true }));

/** A control group with files as the kernel shows them. */
function group(parent: string, name: string, weight: number, version: 1 | 2, processes = '7\n') {
  const path = join(root, parent, name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, version === 1 ? 'cpu.shares' : 'cpu.weight'), `${weight}\n`);
  writeFileSync(join(path, 'cgroup.procs'), processes);
  return path;
}

test('no managed container may stand above the least of the others beside it', (t) => {
  const siblings = new SiblingWeights(1);
  siblings.managed.set(group('docker', 'small', 2, 1), 2);
  siblings.managed.set(group('docker', 'large', 8, 1), 8);
  group('docker', 'invoker', 1024, 1);
  group('docker', 'logs', 256, 1);
  t.is(siblings.factor(), 0, 'one look is not enough');
  t.is(siblings.factor(), 256 / 8);
});

test('alone under their parent they may have any weight', (t) => {
  const siblings = new SiblingWeights(2);
  siblings.managed.set(group('alone', 'one', 1, 2), 1);
  group('alone', 'empty', 100, 2, '');
  group('elsewhere', 'other', 1, 2);
  siblings.factor();
  t.is(siblings.factor(), Number.POSITIVE_INFINITY);
});

test('a group counts when it was there at two looks, also if only a child is in use', (t) => {
  const siblings = new SiblingWeights(2);
  siblings.managed.set(group('slice', 'one', 1, 2), 1);
  siblings.factor();
  const late = group('slice', 'late', 100, 2, '');
  group('slice/late', 'child', 1, 2);
  t.is(siblings.factor(), Number.POSITIVE_INFINITY);
  t.is(siblings.factor(), 100);
  rmSync(late, { recursive: true });
  t.is(siblings.factor(), Number.POSITIVE_INFINITY);
});
