import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import {
  LimitedContainers,
  readLimitedContainers,
} from '../../../openwhisk-plugin/daemon/limited-containers.js';
import { until } from '../../support/gleaner.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { HookRig } from './hook-rig.js';

const ID = (n: number): string => n.toString(16).padStart(64, '0');
const failing = (error: unknown): never => {
  throw error;
};

test('the hook keeps the id of each container that it limits, once, until it ends', async (t) => {
  const rig = await new HookRig().start();
  const path = join(rig.folder, 'limited-containers');
  // Prewarmed: no boost before its `/init`.
  const untouched = rig.container({ name: 'wsk0_1_prewarm_nodejs' }, false);
  const limited = rig.container({ quota: 1000 });
  for (let i = 0; i < 3; i++) limited.call(400, 200);
  t.true(limited.cgroup.writes.length > 1);
  t.deepEqual([...readLimitedContainers(path)], [limited.info.id]);
  t.false(readLimitedContainers(path).has(untouched.info.id));
  t.is(readFileSync(path, 'utf8').split(limited.info.id).length, 2);
  t.is(statSync(path).mode & 0o777, 0o600);
  await rig.hook.stop();
});

test('a container that an earlier hook limited is restored under any name', async (t) => {
  const before = new HookRig();
  const renamed = before.info({ name: 'renamed', quota: 1000 });
  const path = join(before.folder, 'limited-containers');
  new LimitedContainers(path, failing).add(renamed.id);
  before.platform.others.push(renamed);
  const cgroup = before.platform.open(renamed);
  Object.assign(cgroup.inForce, { quota: 300, shares: 16 });
  const rig = await before.start();
  await until(() => cgroup.closed, 2000, 'restored');
  t.deepEqual([cgroup.inForce.quota, cgroup.inForce.shares], [1000, 128]);
  await rig.hook.stop();
  const line = rig.lines.find(({ message }) => message.includes('not managed'));
  t.deepEqual(line?.fields, { containers: ['renamed'], not_restored: [] });
  t.regex(readFileSync(join(rig.folder, 'audit.jsonl'), 'utf8'), /"found_changed".*"renamed"/);
});

test('a line that a full disk cut hides no other', (t) => {
  const path = join(temporaryFolder('limited'), 'limited-containers');
  const limited = new LimitedContainers(path, failing);
  limited.add(ID(1));
  appendFileSync(path, '0000000000');
  limited.add(ID(2));
  t.deepEqual([...readLimitedContainers(path)], [ID(1), ID(2)]);
  limited.close();
});

test('the file does not grow with the containers that end', (t) => {
  const path = join(temporaryFolder('limited'), 'limited-containers');
  const limited = new LimitedContainers(path, failing);
  limited.add(ID(0));
  for (let n = 1; n <= 20_000; n++) {
    limited.add(ID(n));
    if (n > 10) limited.remove(ID(n - 10));
  }
  const kept = readLimitedContainers(path);
  t.true(kept.has(ID(0)) && kept.has(ID(20_000)));
  // 4096 added lines, and those that run.
  t.true(kept.size <= 4096 + 11, `${kept.size}`);
  limited.close();
});

test('ids of an earlier hook are kept until they are dealt with', (t) => {
  const path = join(temporaryFolder('limited'), 'limited-containers');
  const first = new LimitedContainers(path, failing);
  first.add(ID(1));
  first.close();
  const second = new LimitedContainers(path, failing);
  second.add(ID(2));
  t.deepEqual([...readLimitedContainers(path)], [ID(1), ID(2)]);
  second.close();
});

test('a file that cannot be written is reported, and stops nothing', (t) => {
  const path = join(temporaryFolder('limited'), 'limited-containers');
  // A folder in the place of the file that is written first.
  mkdirSync(`${path}.new`);
  const errors: unknown[] = [];
  const limited = new LimitedContainers(path, (error) => errors.push(error));
  limited.add(ID(1));
  limited.add(ID(1));
  t.is(errors.length, 1);
  t.false(existsSync(path));
  t.deepEqual(limited.ids(), [ID(1)]);
});
