import test from 'ava';
import { type Micros, mebibytes } from '../../../../config/index.js';
import { CgroupNotFoundError } from '../../../../openwhisk-plugin/host/cgroup/cgroup-errors.js';
import { restoreAll, unrestored } from '../../../../openwhisk-plugin/host/cgroup/index.js';
import type { ContainerListing } from '../../../../openwhisk-plugin/host/cgroup/restore.js';
import type { ContainerInfo, LimitWriter } from '../../../../openwhisk-plugin/host/ports/index.js';
import { FakePlatform } from '../../daemon/fake-platform.js';
import { HookRig } from '../../daemon/hook-rig.js';
import { listed } from './listed.js';

const rig = new HookRig();

/** A writer that sees no cgroup of these containers: without the host's pids, say. */
function blindTo(platform: FakePlatform, blind: readonly ContainerInfo[]): LimitWriter {
  return {
    open: (container) => {
      if (blind.some(({ id }) => id === container.id))
        throw new CgroupNotFoundError(`process ${container.pid} does not run`);
      return platform.open(container);
    },
    expressible: (shares) => shares,
  };
}

test('a running container without a cgroup here is named, one that ended is not', async (t) => {
  const platform = new FakePlatform();
  const [seen, hidden, ended, again] = [rig.info(), rig.info(), rig.info(), rig.info()];
  platform.open(seen).inForce.shares = 16;
  const engine = listed(
    [seen, hidden, ended, again],
    [seen, hidden, { ...again, startedAt: (again.startedAt + 1) as Micros }],
  );
  const writer = blindTo(platform, [hidden, ended, again]);
  const report = await restoreAll({ engine, writer });
  t.deepEqual(
    report.restored.map(({ container }) => container.id),
    [seen.id],
  );
  t.deepEqual(unrestored(report), [
    {
      id: hidden.id,
      name: hidden.name,
      reason: report.failed[0]!.error.message,
    },
  ]);
  t.regex(report.failed[0]!.error.message, /does not run/);
});

test('a container is named if its engine does not answer a second time', async (t) => {
  const hidden = rig.info();
  const engine: ContainerListing = {
    ...listed([hidden]),
    inspect: () => Promise.reject(new Error('no answer')),
  };
  const writer = blindTo(new FakePlatform(), [hidden]);
  t.is(unrestored(await restoreAll({ engine, writer }))[0]?.name, hidden.name);
});

test('containers whose answer cannot be read are named by the beginning of their id', async (t) => {
  const engine: ContainerListing = {
    list: async () => ({ containers: [], unreadable: ['0123456789abcdef'], unlisted: 2 }),
    inspect: async () => 'unreadable',
  };
  const report = await restoreAll({ engine, writer: new FakePlatform().limits });
  t.is(report.unlisted, 2);
  t.like(unrestored(report)[0], { id: '0123456789abcdef', name: '0123456789ab' });
});

test('limits that the kernel refuses, and loans in use, are named', async (t) => {
  const platform = new FakePlatform();
  const [lent, refused, read] = [rig.info(), rig.info({ quota: 1000 }), rig.info()];
  Object.assign(platform.open(lent).inForce, { memory: mebibytes(512) });
  platform.open(lent).usage.workingSet = mebibytes(400);
  platform.open(refused).quotaResult = 'refused';
  // Its cgroup was there when it was opened.
  platform.open(read).gone = true;
  const report = await restoreAll({
    engine: listed([lent, refused, read]),
    writer: platform.limits,
  });
  t.deepEqual(Object.fromEntries(unrestored(report).map(({ id, reason }) => [id, reason])), {
    [read.id]: 'its cgroup cannot be read',
    [lent.id]: 'its loan of memory is in use',
    [refused.id]: 'quota: refused',
  });
});
