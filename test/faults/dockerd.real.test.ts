import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
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
import { until, type WatchedContainer, watchContainers } from './cgroups.js';
import { PrivateDockerd } from './private-dockerd.js';

const PREFIX = 'wskglfd';
const action: Action = {
  namespace: 'guest',
  name: 'waits',
  version: '0.0.1',
  ...actionSource('io'),
  memoryMb: 128,
  cpus: 1,
  // Longer than the longest call, also on a slow machine: at its deadline its limits are restored.
  timeoutMs: allowed(60_000),
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
  for (let activation = 0; activation < 8 && least >= 1000; activation++) {
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

/** A call with a lowered quota; on a busy machine a start may reach the hook late. */
async function lowered(
  invoke: () => Promise<ActivationResult>,
  container: WatchedContainer,
): Promise<{ answer: Promise<ActivationResult> }> {
  for (let tries = 1; ; tries++) {
    const answer = invoke();
    try {
      await until('lowered', 3000, () => container.lowered);
      return { answer };
    } catch (error) {
      if (tries === 3) throw error;
      await answer;
    }
  }
}

const lacking = (t: ExecutionContext): boolean =>
  missing(t, [...realParts, ['ip', '-V'], ['dockerd', '--version']]);

/** A dockerd of its own, an enforcing Gleaner on it, and what makes invokers on it. */
async function prepare(t: ExecutionContext, liveRestore: boolean) {
  t.timeout(allowed(200_000));
  const dockerd = liveRestore
    ? new PrivateDockerd('glnfaults1', '172.31.214.1/24', true)
    : new PrivateDockerd('glnfaults0', '172.31.213.1/24');
  t.teardown(() => dockerd.remove());
  await dockerd.start();
  // The docker commands of this process, the emulator's included, go to that one.
  process.env.DOCKER_HOST = dockerd.host;
  t.teardown(() => void delete process.env.DOCKER_HOST);
  const image = await ensureActionImage();
  const emulator = (): InvokerEmulator => {
    const made = new InvokerEmulator({
      image,
      prefix: `${PREFIX}0`,
      userMemoryMb: 128,
      pauseGraceMs: 600_000,
      useRunc: false,
      containersFolder: join(dockerd.dataRoot, 'containers'),
    });
    t.teardown(() => made.stop());
    return made;
  };
  const gleaner = new GleanerProcess({
    mode: 'enforce',
    decision: { controlShare: 0 },
    hook: { engineSocket: dockerd.socket, containerPrefix: PREFIX },
  });
  t.teardown(() => gleaner.stop());
  return { dockerd, emulator, gleaner };
}

const watch = (): WatchedContainer[] => watchContainers(PREFIX);
const knownTo = async (gleaner: GleanerProcess): Promise<string[]> => {
  const { hosts } = (await gleaner.command('status')) as { hosts: Containers[] };
  return hosts[0]!.containers.map(({ id }) => id);
};

test.serial(
  'after dockerd is killed and restarted the hook manages the new containers',
  async (t) => {
    if (lacking(t)) return;
    const { dockerd, emulator, gleaner } = await prepare(t, false);
    const invoker = emulator();
    await gleaner.start(allowed(30_000));
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
    await next.start();
    t.true((await next.invoke(action, { sleepMs: 300 })).ok);
    const after = await lowest(() => next.invoke(action, { sleepMs: 600 }), watch);
    t.log(`lowest quota before ${before}, after ${after} millicores`);
    t.true(after < 1000, `managed after: ${after}`);
    const [now] = watch();
    t.not(now!.id, old!.id);
    t.deepEqual(await knownTo(gleaner), [now!.id]);
  },
);

test.serial(
  'with live-restore an activation keeps its limits while dockerd is killed and started again',
  async (t) => {
    if (lacking(t)) return;
    const { dockerd, emulator, gleaner } = await prepare(t, true);
    const invoker = emulator();
    await gleaner.start(allowed(30_000));
    t.true((await invoker.invoke(action, { sleepMs: 300 })).ok);
    t.true((await lowest(() => invoker.invoke(action, { sleepMs: 600 }), watch)) < 1000);
    const [container] = watch();
    const { answer } = await lowered(
      () => invoker.invoke(action, { sleepMs: allowed(8000) }),
      container!,
    );
    await dockerd.kill();
    await dockerd.start();
    t.true(container!.lowered, 'nothing was restored or reset');
    t.true((await answer).ok);
    await until('the user’s quota', 1000, () => container!.quota() === container!.user.quota);
    const after = await lowest(() => invoker.invoke(action, { sleepMs: 600 }), watch);
    t.true(after < 1000, `managed after: ${after}`);
    t.deepEqual(
      watch().map(({ id }) => id),
      [container!.id],
    );
    t.deepEqual(await knownTo(gleaner), [container!.id]);
  },
);
