import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { KubernetesNode } from '../../bench/kubernetes/node.js';
import { cgroupDrivers } from '../../bench/kubernetes/pods.js';
import { millis } from '../../config/index.js';
import { KubernetesEngine } from '../../openwhisk-plugin/host/kubernetes/index.js';
import { Recorder } from '../openwhisk-plugin/host/docker/recorder.js';
import { allowed } from '../support/slowness.js';
import { isWhole, onNode } from './on-node.js';

const node = new KubernetesNode();
const real = onNode(node);

const MIB = 1024 * 1024;
function engineOf(t: ExecutionContext): KubernetesEngine {
  const engine = new KubernetesEngine({
    socketPath: node.socket,
    reconcileEvery: millis(3_600_000),
  });
  t.teardown(() => engine.stop());
  return engine;
}

for (const [n, driver] of cgroupDrivers().entries()) {
  const other = new KubernetesNode(207 + 10 * n, driver);
  onNode(other)(`the runtime shows that its cgroup driver is ${driver}`, async (t) => {
    const engine = new KubernetesEngine({ socketPath: other.socket });
    t.is((await engine.facts()).cgroupDriver, driver);
    engine.close();
  });
}

real('a pod is known soon after its start, with its limits, and gone after its end', async (t) => {
  const engine = engineOf(t);
  const seen = new Recorder();
  await engine.start(seen);
  const facts = await engine.facts();
  t.regex(facts.engineVersion, /^containerd /);
  // Without the second listing, which comes a second after the subscription.
  await sleep(1500);
  const pod = await node.pods.create({ memoryMiB: 128, cpu: 250 });
  await seen.until((r) => r.started.length === 1);
  const [found] = seen.started;
  const late = Date.now() - (found?.startedAt ?? 0) / 1000;
  t.log(`known ${late.toFixed(0)} ms after its start`);
  t.true(late < allowed(2000));
  t.is(found?.id, pod.container);
  t.is(found?.name, pod.name);
  t.is(found?.address, pod.address);
  t.true((found?.pid ?? 0) > 0);
  // 250 millicores of 1024 shares a core.
  t.like(found?.user, { shares: 256, quota: 250, memory: 128 * MIB, periodMicros: 100_000 });
  t.like(found?.pod, { uid: pod.uid, user: { shares: 256, quota: 250, memory: 128 * MIB } });
  await node.pods.exec(pod, '/bin/sleep', '0');
  await sleep(200);
  t.is(seen.ended.length, 0, 'the end of a probe is no end');
  await node.pods.restart(pod);
  await seen.until((r) => r.started.length === 2 && r.ended.length === 1);
  t.is(seen.started[1]?.address, pod.address);
  await node.pods.remove(pod);
  await seen.until((r) => r.ended.length === 2);
});

real('of many pods that come and go at once each is announced and ended once', async (t) => {
  const engine = engineOf(t);
  const seen = new Recorder();
  await engine.start(seen);
  const all = Array.from({ length: isWhole ? 50 : 12 }, (_, n) => n);
  const pods = await Promise.all(
    all.map((n) => node.pods.create({ network: n % 2 === 0 ? 'bridge' : 'ptp', memoryMiB: 64 })),
  );
  await seen.until((r) => r.started.length >= pods.length);
  t.deepEqual(
    seen.started.map(({ id }) => id).sort(),
    pods.map(({ container }) => container).sort(),
  );
  t.is(new Set(seen.started.map(({ address }) => address)).size, pods.length);
  // Stock pods: no CPU request, 2 shares at every level.
  t.true(seen.started.every(({ user }) => user.shares === 2 && user.quota === 0));
  await Promise.all(pods.map((pod) => node.pods.remove(pod)));
  await seen.until((r) => r.ended.length >= pods.length);
  t.deepEqual(seen.ended.map(({ id }) => id).sort(), pods.map(({ container }) => container).sort());
  t.deepEqual(await engine.snapshot(), []);
});

real('pods that come and go while containerd is down are known once it is back', async (t) => {
  const engine = engineOf(t);
  const seen = new Recorder();
  const stays = await node.pods.create();
  const goes = await node.pods.create();
  await engine.start(seen);
  await seen.until((r) => r.started.length === 2);
  await node.killContainerd();
  await seen.until((r) => r.lines.some((line) => line.startsWith('down ')));
  await node.startContainerd();
  await node.pods.remove(goes);
  const comes = await node.pods.create();
  await seen.until((r) => r.started.length === 3 && r.ended.length === 1);
  t.is(seen.ended[0]?.id, goes.container);
  t.is(seen.started[2]?.id, comes.container);
  t.false(seen.ended.some(({ id }) => id === stays.container));
});
