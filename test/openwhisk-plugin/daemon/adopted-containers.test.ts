import test from 'ava';
import { wildcards } from '../../../broker/index.js';
import { decodeObservation, type Observation } from '../../../broker/messages/index.js';
import type { Micros } from '../../../config/index.js';
import { settle } from '../../support/settle.js';
import { FakeContainer, HookRig } from './hook-rig.js';

/** A hook that finds `count` containers running, and the observations that it sends. */
async function restarted(
  count: number,
): Promise<{ rig: HookRig; containers: FakeContainer[]; seen: Observation[] }> {
  const rig = new HookRig();
  const seen: Observation[] = [];
  rig.other.subscribe(wildcards.observations, ({ data }) => {
    const decoded = decodeObservation(data);
    if (decoded.ok) seen.push(decoded.message);
  });
  const infos = Array.from({ length: count }, () => rig.info({ quota: 1000 }));
  rig.platform.before.push(...infos);
  // Longer ago than 100 ms: a later reading is not taken from the last one.
  for (const info of infos) {
    const { usage } = rig.platform.open(info);
    usage.cpu = 1_000_000 as Micros;
    Object.assign(usage, { periods: 900, throttledPeriods: 300, oomKills: 3, limitHits: 5 });
  }
  rig.advance(1000);
  await rig.start();
  return { rig, containers: infos.map((info) => new FakeContainer(rig, info)), seen };
}

test('containers that ran before the hook begin warm', async (t) => {
  const { rig, containers, seen } = await restarted(3);
  for (const container of containers) container.call(200, 200);
  // Prewarmed: its `/init` shows that it has run nothing yet.
  const prewarmed = containers[0]!;
  rig.platform.listener.containerEnded(prewarmed.info.id);
  rig.platform.listener.containerStarted(prewarmed.info, true);
  prewarmed.init();
  prewarmed.call(200, 200);
  // New: its start was seen.
  rig.container({ quota: 1000 }).call(200, 200);
  rig.advance(10_100);
  await settle();
  t.is(seen.length, 1);
  t.like(seen[0], { activations: 5, coldStarts: 2 });
  // Twice 20 ms of init and 200 ms of run.
  t.is(seen[0]?.coldLatency?.sum, 440);
  // Each /init of the rig takes 20 ms.
  t.like(rig.hook.inspect().functions[0], { coldStarts: 2, initTime: 20 });
  t.deepEqual(
    rig.hook.explain('/guest/hello').map(({ cold }) => cold),
    [true, true, false, false, false],
  );
  await rig.hook.stop();
});

test('what containers did before the hook is neither throttling nor an OOM kill', async (t) => {
  const { rig, containers, seen } = await restarted(1);
  const container = containers[0]!;
  container.call(300, 200);
  t.like(rig.hook.inspect().counters, { oomUser: 0, oomHarvest: 0 });
  const connection = container.run();
  const { usage } = container.cgroup;
  Object.assign(usage, { periods: 910, throttledPeriods: 302, oomKills: 4 });
  container.work(300, 200);
  container.answer(connection);
  t.like(rig.hook.inspect().counters, { oomUser: 1, oomHarvest: 0 });
  // The event of the same kill, and one of another.
  rig.platform.listener.containerOom(container.info.id);
  t.like(rig.hook.inspect().counters, { oomUser: 1 });
  rig.platform.listener.containerOom(container.info.id);
  t.like(rig.hook.inspect().counters, { oomUser: 2 });
  rig.advance(10_100);
  await settle();
  t.like(seen[0], { oomKills: 2, throttledShare: 0.2 });
  await rig.hook.stop();
});

test('a kill in the first activation of a container found running is seen', async (t) => {
  const { rig, containers } = await restarted(1);
  const container = containers[0]!;
  const connection = container.run();
  Object.assign(container.cgroup.usage, { oomKills: 4 });
  // Shorter than the sampling interval.
  container.work(20, 100);
  container.answer(connection);
  t.like(rig.hook.inspect().counters, { oomUser: 1 });
  rig.platform.listener.containerOom(container.info.id);
  t.like(rig.hook.inspect().counters, { oomUser: 1 });
  await rig.hook.stop();
});

test('containers found running show nothing of reuse with one activation', async (t) => {
  const { rig, containers } = await restarted(25);
  for (const container of containers) {
    container.call(20, 100);
    container.end();
  }
  t.is(rig.lines.filter((line) => 'warm_reuse_ratio' in line.fields).length, 0);
  for (let i = 0; i < 20; i++) {
    const container = rig.container({ quota: 1000 });
    container.call(20, 100);
    container.end();
  }
  t.is(rig.lines.filter((line) => 'warm_reuse_ratio' in line.fields).length, 1);
  await rig.hook.stop();
});
