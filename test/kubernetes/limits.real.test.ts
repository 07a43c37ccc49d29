import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import fc from 'fast-check';
import { KubernetesNode } from '../../bench/kubernetes/node.js';
import type { Pod } from '../../bench/kubernetes/pods.js';
import { mebibytes, millicores } from '../../config/index.js';
import { NO_LIMIT } from '../../openwhisk-plugin/decision/index.js';
import { CgroupLimitWriter, restoreAll } from '../../openwhisk-plugin/host/cgroup/index.js';
import { KubernetesEngine } from '../../openwhisk-plugin/host/kubernetes/index.js';
import { emptyLimits } from '../../openwhisk-plugin/host/ports/index.js';
import { onNode } from './on-node.js';

const node = new KubernetesNode(205);
const real = onNode(node);
const MIB = 1024 * 1024;

const engineOf = (): KubernetesEngine => new KubernetesEngine({ socketPath: node.socket });

async function infoOf(pod: Pod) {
  const engine = engineOf();
  const info = (await engine.snapshot()).find(({ id }) => id === pod.container);
  engine.close();
  if (info === undefined) throw new Error('the pod is not listed');
  return info;
}

/** What the kernel has at both levels, by v1's files. */
function inKernel({ cgroup, container }: Pod) {
  const read = (controller: string, group: string, file: string): number =>
    Number(readFileSync(join('/sys/fs/cgroup', controller, group, file), 'utf8'));
  const at = (group: string) => ({
    shares: read('cpu', group, 'cpu.shares'),
    quota: read('cpu', group, 'cpu.cfs_quota_us'),
    memory: read('memory', group, 'memory.limit_in_bytes'),
  });
  return { pod: at(cgroup), container: at(join(cgroup, container)) };
}

const isV1 = (t: ExecutionContext): boolean => {
  try {
    readFileSync('/sys/fs/cgroup/cpu/cpu.shares');
    return true;
  } catch {
    t.log('NOT RUN: reads the files of cgroup v1');
    t.pass();
    return false;
  }
};

real('from any state of quota and weight to any other, both levels are as written', async (t) => {
  if (!isV1(t)) return;
  const pod = await node.pods.create({ cpu: 500, memoryMiB: 128 });
  const stock = await node.pods.create({ memoryMiB: 128 });
  const writer = new CgroupLimitWriter({ cgroupVersion: 1 });
  const handle = writer.open(await infoOf(pod));
  const stockHandle = writer.open(await infoOf(stock));
  const state = fc.record({
    quota: fc.oneof(fc.integer({ min: 10, max: 8000 }), fc.constant(NO_LIMIT)),
    shares: fc.integer({ min: 2, max: 20_000 }),
  });
  const isGood = (result: string): boolean => result === 'written' || result === 'unchanged';
  fc.assert(
    fc.property(fc.array(state, { minLength: 1, maxLength: 6 }), (states) => {
      for (const { quota, shares } of states) {
        const limit = millicores(quota);
        const results = [handle.setQuota(limit), handle.setShares(shares)];
        results.push(stockHandle.setQuota(limit), stockHandle.setShares(shares));
        if (!results.every(isGood)) return false;
        // 100 ms periods: a millicore is 100 us. The pod's own quota is 500 millicores, and grows
        // by what its container gets above its own 500.
        const micros = quota === NO_LIMIT ? -1 : quota * 100;
        const ofPod = quota === NO_LIMIT ? -1 : Math.max(500, quota) * 100;
        const now = inKernel(pod);
        const expected = [shares, ofPod, 512, micros];
        const found = [now.pod.shares, now.pod.quota, now.container.shares, now.container.quota];
        if (String(found) !== String(expected)) return false;
        const other = inKernel(stock);
        if (other.pod.shares !== shares || other.pod.quota !== -1) return false;
        if (other.container.quota !== micros || other.container.shares !== 2) return false;
        const read = emptyLimits();
        if (!handle.read(read) || read.shares !== shares || read.quota !== limit) return false;
      }
      return true;
    }),
    { numRuns: 60 },
  );
  t.is(handle.raiseMemory(mebibytes(256)), 'refused', 'no memory beyond the user’s');
  t.is(inKernel(pod).pod.memory, 128 * MIB);
  t.is(await handle.lowerMemory(mebibytes(100)), 'written');
  t.is(inKernel(pod).container.memory, 100 * MIB);
  t.is(handle.raiseMemory(mebibytes(128)), 'written');
  handle.close();
  stockHandle.close();
  await writer.close();
  await node.pods.remove(pod);
  await node.pods.remove(stock);
});

real('a pod’s quota that another program lowers is found and raised again', async (t) => {
  if (!isV1(t)) return;
  const pod = await node.pods.create({ cpu: 500 });
  const writer = new CgroupLimitWriter({ cgroupVersion: 1 });
  const handle = writer.open(await infoOf(pod));
  const quota = join('/sys/fs/cgroup/cpu', pod.cgroup, 'cpu.cfs_quota_us');
  t.is(handle.setQuota(millicores(300)), 'written');
  writeFileSync(quota, '40000');
  const read = emptyLimits();
  t.true(handle.read(read));
  t.is(read.quota, millicores(300), 'a higher one of the pod changes nothing');
  // v1 refuses a pod's quota below its container's.
  writeFileSync(join('/sys/fs/cgroup/cpu', pod.cgroup, pod.container, 'cpu.cfs_quota_us'), '20000');
  writeFileSync(quota, '20000');
  t.true(handle.read(read));
  t.is(read.quota, millicores(200));
  t.is(handle.setQuota(millicores(300)), 'written');
  t.is(inKernel(pod).container.quota, 30_000);
  handle.close();
  await writer.close();
  await node.pods.remove(pod);
});

real('limits that a killed hook left behind are restored at both levels', async (t) => {
  if (!isV1(t)) return;
  const pod = await node.pods.create({ cpu: 500 });
  const before = inKernel(pod);
  const writer = new CgroupLimitWriter({ cgroupVersion: 1 });
  const handle = writer.open(await infoOf(pod));
  t.is(handle.setQuota(millicores(1500)), 'written');
  t.is(handle.setShares(9000), 'written');
  t.notDeepEqual(inKernel(pod), before);
  // Nothing of the writer's memory is left.
  handle.close();
  await writer.close();
  const engine = engineOf();
  const fresh = new CgroupLimitWriter({ cgroupVersion: 1 });
  const { restored, failed } = await restoreAll({ engine, writer: fresh });
  t.is(restored.length, 1);
  t.deepEqual(failed, []);
  t.deepEqual(inKernel(pod), before);
  engine.close();
  await fresh.close();
  await node.pods.remove(pod);
});
