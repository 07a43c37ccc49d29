import { join } from 'node:path';
import test from 'ava';
import { GleanerProcess } from '../../bench/benefit/gleaner-process.js';
import {
  type Action,
  type ActivationResult,
  actionSource,
  ensureActionImage,
  InvokerEmulator,
} from '../../simulator/invoker-emulator/index.js';
import { missing, realParts } from '../support/real-parts.js';
import { allowed } from '../support/slowness.js';
import { type WatchedContainer, watchContainers } from './cgroups.js';
import { PrivateDockerd } from './private-dockerd.js';

const PREFIX = 'wskglfd';
const action: Action = {
  namespace: 'guest',
  name: 'waits',
  version: '0.0.1',
  ...actionSource('io'),
  memoryMb: 128,
  cpus: 1,
};

interface Containers {
  readonly containers: readonly { readonly id: string }[];
}

/**
 * Smallest quota that any of the containers has while calls are made, one after the other; stops at
 * the first that is lowered.
 */
async function lowest(
  invoke: () => Promise<ActivationResult>,
  containers: () => readonly WatchedContainer[],
): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let call = 0; call < 8 && least >= 1000; call++) {
    let over = false;
    const answer = invoke().finally(() => {
      over = true;
    });
    const watched = containers();
    while (!over) {
      for (const container of watched) least = Math.min(least, container.quota());
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const { ok, kind } = await answer;
    if (!ok) throw new Error(`an activation ended with ${kind}`);
    for (const container of watched) container.close();
  }
  return least;
}

test.serial(
  'after dockerd is killed and restarted the hook manages the new containers',
  async (t) => {
    if (missing(t, [...realParts, ['ip', '-V'], ['dockerd', '--version']])) return;
    t.timeout(allowed(200_000));
    const dockerd = new PrivateDockerd('glnfaults0', '172.31.213.1/24');
    t.teardown(() => dockerd.remove());
    await dockerd.start();
    // The docker commands of this process, the double's included, go to that one.
    process.env.DOCKER_HOST = dockerd.host;
    const image = await ensureActionImage();
    const emulator = (): InvokerEmulator =>
      new InvokerEmulator({
        image,
        prefix: `${PREFIX}0`,
        userMemoryMb: 128,
        pauseGraceMs: 600_000,
        useRunc: false,
        containersFolder: join(dockerd.dataRoot, 'containers'),
      });
    const invoker = emulator();
    const gleaner = new GleanerProcess({
      mode: 'enforce',
      decision: { controlShare: 0 },
      hook: { engineSocket: dockerd.socket, containerPrefix: PREFIX },
    });
    t.teardown(() => gleaner.stop());
    t.teardown(() => invoker.stop());
    await gleaner.start();
    const watch = (): WatchedContainer[] => watchContainers(PREFIX);
    t.true((await invoker.invoke(action, { sleepMs: 300 })).ok);
    const before = await lowest(() => invoker.invoke(action, { sleepMs: 600 }), watch);
    t.true(before < 1000, `managed before: ${before}`);
    const [old] = watch();

    await dockerd.kill();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await dockerd.start();
    // An invoker that starts removes what it finds; this one's containers were ended by the new
    // dockerd.
    const next = emulator();
    t.teardown(() => next.stop());
    await next.start();
    t.true((await next.invoke(action, { sleepMs: 300 })).ok);
    const after = await lowest(() => next.invoke(action, { sleepMs: 600 }), watch);
    t.log(`lowest quota before ${before}, after ${after} millicores`);
    t.true(after < 1000, `managed after: ${after}`);
    const { hosts } = (await gleaner.command('status')) as { hosts: Containers[] };
    const known = hosts[0]!.containers.map(({ id }) => id);
    const [now] = watch();
    t.not(now!.id, old!.id);
    t.deepEqual(known, [now!.id]);
  },
);
