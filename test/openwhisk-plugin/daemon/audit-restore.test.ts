import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { type Micros, mebibytes } from '../../../config/index.js';
import { appendToAudit, restoreLines } from '../../../openwhisk-plugin/daemon/index.js';
import { restoreAll } from '../../../openwhisk-plugin/host/cgroup/index.js';
import { authorOfRestore, HOOK_ENDED } from '../../../runtime/wiring/restore.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { listed } from '../host/cgroup/listed.js';
import { FakePlatform } from './fake-platform.js';
import { HookRig } from './hook-rig.js';

const AT = (Date.parse('2026-01-02T03:04:05.678Z') * 1000) as Micros;
const records = (text: string): Record<string, unknown>[] =>
  text
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test('a restore without a hook writes one line for each changed or refused limit', async (t) => {
  const platform = new FakePlatform();
  const rig = new HookRig();
  const [changed, untouched, inUse] = [rig.info({ quota: 1000 }), rig.info(), rig.info()];
  const cgroup = platform.open(changed);
  Object.assign(cgroup.inForce, { shares: 16, quota: 300, memory: mebibytes(64) });
  cgroup.protection = 1;
  // A loan of memory in use: taking it would kill.
  const lent = platform.open(inUse);
  lent.inForce.memory = mebibytes(512);
  lent.usage.workingSet = mebibytes(400);
  const containers = [changed, untouched, inUse];
  const report = await restoreAll({
    engine: listed(containers),
    writer: platform.limits,
  });
  const lines = records(restoreLines(report, { who: 'restore', why: HOOK_ENDED }, AT));
  const common = {
    at: '2026-01-02T03:04:05.678Z',
    who: 'restore',
    why: 'hook_ended',
    result: 'written',
  };
  const of = { container: changed.id, name: changed.name };
  const [low, high] = [mebibytes(64), mebibytes(256)];
  t.deepEqual(lines, [
    { ...common, resource: 'cpu.shares', ...of, old: 16, new: 128, readBack: 128 },
    { ...common, resource: 'cpu.quota', ...of, old: 300, new: 1000, readBack: 1000 },
    { ...common, resource: 'memory', ...of, old: low, new: high, readBack: high },
    { ...common, resource: 'memory.low', ...of, new: 0, readBack: 0 },
    {
      ...common,
      result: 'refused',
      resource: 'memory',
      container: inUse.id,
      name: inUse.name,
      old: mebibytes(512),
      new: high,
      readBack: mebibytes(512),
    },
  ]);
});

test('a container that could not be restored at all is in the audit log with its reason', (t) => {
  const container = new HookRig().info();
  const report = {
    restored: [],
    failed: [{ container, error: new Error('read-only cgroup') }],
    unlisted: 0,
  };
  const [line] = records(restoreLines(report, { who: 'operator:cli:root', why: 'asked' }, AT));
  t.like(line, {
    who: 'operator:cli:root',
    resource: 'none',
    container: container.id,
    result: 'failed: read-only cgroup',
  });
});

test('lines appended beside a hook that has the log open are neither lost nor cut', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container({ quota: 1000 });
  const path = join(rig.folder, 'audit.jsonl');
  let ours = 0;
  for (let i = 0; i < 20; i++) {
    container.call(400, 200);
    rig.advance(200);
    appendToAudit(path, `{"who":"other","n":${i}}\n`);
    ours++;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const { written } = rig.hook.inspect().audit;
  await rig.hook.stop();
  const lines = records(readFileSync(path, 'utf8'));
  t.is(lines.filter(({ who }) => who === 'other').length, ours);
  t.true(lines.length - ours >= written);
});

test('appending creates the log with mode 0600, ends a cut line, and follows no link', (t) => {
  const folder = temporaryFolder('audit');
  const path = join(folder, 'state', 'audit.jsonl');
  appendToAudit(path, '{"n":1}\n');
  t.is(statSync(path).mode & 0o777, 0o600);
  writeFileSync(path, '{"at":"2026-', { mode: 0o644 });
  appendToAudit(path, '{"n":2}\n{"n":3}\n');
  t.is(readFileSync(path, 'utf8'), '{"at":"2026-\n{"n":2}\n{"n":3}\n');
  const link = join(folder, 'link.jsonl');
  symlinkSync(path, link);
  t.throws(() => appendToAudit(link, '{"n":4}\n'), { code: 'ELOOP' });
  mkdirSync(join(folder, 'taken'));
  t.throws(() => appendToAudit(join(folder, 'taken'), '{"n":5}\n'));
  t.notThrows(() => appendToAudit(join(folder, 'taken'), ''), 'nothing to write');
});

test('a restore by systemd after the hook’s end is not the operator’s', (t) => {
  t.deepEqual(authorOfRestore('cli:root', 'asked', {}), { who: 'operator:cli:root', why: 'asked' });
  // systemd.exec(5): $SERVICE_RESULT is set for ExecStop= and ExecStopPost= alone.
  t.deepEqual(authorOfRestore('cli:root', 'asked', { SERVICE_RESULT: 'signal' }), {
    who: 'restore',
    why: 'hook_ended',
  });
});
