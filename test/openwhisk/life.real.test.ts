import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { stringify } from 'yaml';
import { install, layoutOf } from '../../cli/install/index.js';
import { watchContainers } from '../faults/cgroups.js';
import { isAlive, PARTS, pidsOf } from '../faults/processes.js';
import { until } from '../support/gleaner.js';
import { remainsOf } from '../support/remains.js';
import { removeInstallation } from '../support/remove-installation.js';
import { allowed } from '../support/slowness.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import type { OpenWhiskApi } from './api.js';
import { GleanerFixture } from './gleaner-fixture.js';
import {
  containerNames,
  onlyWithAllCases,
  openWhiskMissing,
  PREFIX,
  Standalone,
} from './standalone.js';

const LONG = 120_000;
const PREWARMED = 2;
/**
 * Uses a whole core for a while, and then little: after the first activation its quota is worth
 * lowering.
 */
const WORK = `async function main({ ms }) {
  const begin = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(begin);
    if (user + system >= 20000) break;
  }
  await new Promise((resolve) => setTimeout(resolve, ms));
  return { ms };
}`;

const prewarmed = (): string[] => containerNames().filter((name) => name.includes('_prewarm_'));

/** Containers whose quota, weight or memory is not what Docker's inspect says. */
function containersBelowUserLimits(): string[] {
  return watchContainers(PREFIX).flatMap((container) => {
    const { user } = container;
    const now = container.limits();
    container.close();
    const same =
      now.quota === user.quota && now.shares === user.shares && now.memory === user.memory;
    return same ? [] : [`${container.id} ${JSON.stringify({ now, user })}`];
  });
}

/** Invokes, and tells whether the hook saw that very activation end by its answer. */
async function isSeen(
  api: OpenWhiskApi,
  gleaner: GleanerFixture,
  action: string,
): Promise<boolean> {
  const { activationId, response } = await api.invoke(action, { ms: 100 });
  if (!response.success) throw new Error(`${action}: ${JSON.stringify(response)}`);
  const seen = async () =>
    (await gleaner.explain(`/guest/${action}`)).activations.filter(
      ({ activation }) => activation === activationId,
    );
  await until(
    async () => (await seen()).length > 0,
    LONG,
    `activation ${activationId} is explained`,
  );
  const [one, ...more] = await seen();
  return one?.ended === 'answer' && more.length === 0;
}

test.serial(
  'through prewarming, pause, eviction and restart containers keep their user limits',
  async (t) => {
    if (openWhiskMissing(t) || onlyWithAllCases(t)) return;
    t.timeout(allowed(600_000));
    const openWhisk = new Standalone({
      userCpus: 32,
      prewarmed: PREWARMED,
      settings: [
        'whisk.container-proxy.timeouts.pause-grace=2s',
        'whisk.container-proxy.timeouts.idle-container=8s',
      ],
    });
    t.teardown(() => openWhisk.stop());
    await openWhisk.start();
    const gleaner = new GleanerFixture();
    t.teardown(() => gleaner.stop());
    await gleaner.start();
    const { api } = openWhisk;
    const managed = async (): Promise<string[]> =>
      (await gleaner.inspect()).containers.map(({ name }) => name).sort();
    const known = async (): Promise<boolean> =>
      JSON.stringify(await managed()) === JSON.stringify(containerNames().sort());
    const create = (): Promise<void> => api.putAction('work', WORK);

    // Prewarmed: nothing waits for them, so they get nothing.
    await until(() => prewarmed().length === PREWARMED, LONG, 'prewarmed containers');
    await until(known, LONG, 'the hook knows the prewarmed containers');
    t.deepEqual(containersBelowUserLimits(), []);
    await create();
    t.true(await isSeen(api, gleaner, 'work'));
    // The one that took the activation's place starts beside the running hook.
    const used = (await gleaner.inspect()).containers.find(
      (one) => one.function === '/guest/work',
    )?.name;
    const idle = () => prewarmed().filter((each) => each !== used);
    await until(() => idle().length === PREWARMED, LONG, 'another one is prewarmed');
    await until(known, LONG, 'the hook knows it');
    t.is((await gleaner.inspect()).counters.boosts, 1);

    // Paused after two seconds: at the user's quota, and seen again once it is resumed.
    const paused = (): string[] => containerNames('status=paused');
    await until(() => paused().length === 1, LONG, 'the idle container is paused');
    for (const { quota, user } of watchContainers(PREFIX).map((each) => ({
      quota: each.quota(),
      user: each.user,
    })))
      t.is(quota, user.quota);
    t.true(await isSeen(api, gleaner, 'work'));
    t.is((await gleaner.inspect()).counters.unknownContainer, 0);

    // Evicted after eight seconds.
    await until(() => containerNames().length === PREWARMED, LONG, 'the idle container is evicted');
    await until(known, LONG, 'the hook has forgotten it');
    t.is((await gleaner.inspect()).counters.containerEnd, 0);

    // Restarted in order, and after a crash that leaves its containers: names and addresses are
    // used again.
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await openWhisk.stop(signal);
      await openWhisk.start();
      await create();
      for (let i = 0; i < 3; i++) t.true(await isSeen(api, gleaner, 'work'), `${signal} ${i}`);
      await until(known, LONG, `the hook knows the containers after ${signal}`);
    }
    const { counters } = await gleaner.inspect();
    t.log(JSON.stringify(counters));
    t.like(counters, { started: 8, ended: 8, clean: 8, tapLost: 0 });

    // Everything is killed in the middle of an activation, and then removed.
    const layout = layoutOf(temporaryFolder('openwhisk-root'));
    install({
      layout,
      from: process.cwd(),
      parts: ['hook'],
      node: process.execPath,
      services: null,
      checkConfig: null,
    });
    const hook = { stateDir: temporaryFolder('openwhisk-state'), containerPrefix: 'wsk0' };
    writeFileSync(layout.at(layout.config), stringify({ mode: 'enforce', hook }));
    const running = api.invoke('work', { ms: 20_000 });
    await until(
      () => containersBelowUserLimits().length > 0,
      LONG,
      'a limit that is not the user’s',
    );
    const up = gleaner.process.pid;
    const pids = [up, ...PARTS.flatMap((part) => pidsOf(part, up))];
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await until(() => !pids.some(isAlive), LONG, 'no part runs');
    await sleep(100);
    await removeInstallation(layout);
    t.deepEqual(containersBelowUserLimits(), []);
    t.deepEqual(remainsOf(layout), []);
    t.true((await running).response.success);
  },
);
