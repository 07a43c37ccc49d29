import { join } from 'node:path';
import test from 'ava';
import { RateLimitedLog, silentLogger } from '../../../broker/index.js';
import { type Bytes, MIB } from '../../../config/index.js';
import { AuditLog } from '../../../openwhisk-plugin/daemon/audit.js';
import { Container } from '../../../openwhisk-plugin/daemon/containers.js';
import { Counters } from '../../../openwhisk-plugin/daemon/counters.js';
import { LimitApplier } from '../../../openwhisk-plugin/daemon/limit-applier.js';
import { LimitedContainers } from '../../../openwhisk-plugin/daemon/limited-containers.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { decider } from '../decision/helpers.js';
import { FakeCgroup } from './fake-platform.js';
import { HookRig } from './hook-rig.js';

test('a memory limit requested while a reduction ends is written, whenever it comes', async (t) => {
  const rig = new HookRig();
  const { time } = rig.platform;
  const options = { path: join(rig.folder, 'audit'), rotateBytes: 1e9, files: 1 };
  const audit = new AuditLog(options, time, silentLogger);
  const limited = new LimitedContainers(join(temporaryFolder('limited'), 'ids'), (error) =>
    t.fail(String(error)),
  );
  const log = new RateLimitedLog(silentLogger);
  const applier = new LimitApplier(time, audit, new Counters(), log, limited);
  const change = { who: 'policy', why: 'test', activation: null };
  for (let microtasks = 0; microtasks < 12; microtasks++) {
    const info = rig.info();
    const cgroup = new FakeCgroup(info);
    const container = new Container(info, decider().container(info.user), cgroup, cgroup);
    applier.setMemory(container, 200 * MIB, change);
    for (let i = 0; i < microtasks; i++) await Promise.resolve();
    applier.setMemory(container, 100 * MIB, change);
    await applier.settled();
    t.is(cgroup.inForce.memory as Bytes, (100 * MIB) as Bytes, `after ${microtasks} microtasks`);
  }
  await audit.close();
  limited.close();
});
