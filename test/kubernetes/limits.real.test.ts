import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { KubernetesNode } from '../../bench/kubernetes/node.js';
import {
  type CgroupDriver,
  cgroupDrivers,
  isUnified,
  type Pod,
  ROOT,
} from '../../bench/kubernetes/pods.js';
import { mebibytes, millicores } from '../../config/index.js';
import { NO_LIMIT } from '../../openwhisk-plugin/decision/index.js';
import {
  CgroupLimitWriter,
  restoreAll,
  SystemdBus,
} from '../../openwhisk-plugin/host/cgroup/index.js';
import { KubernetesEngine } from '../../openwhisk-plugin/host/kubernetes/index.js';
import { emptyLimits } from '../../openwhisk-plugin/host/ports/index.js';
import { type KernelLimits, kernelLimits } from './kernel.js';
import { onNode } from './on-node.js';

const MIB = 1024 * 1024;
const version = isUnified ? 2 : 1;

/** Of 512 shares, a half core: kubelet's and runc's `1 + (shares - 2) * 9999 / 262142`. */
const HALF_CORE = isUnified ? 20 : 512;
/** Of 2 shares. */
const LEAST = isUnified ? 1 : 2;

/** Of 512 shares by newer kubelets: 10^((9^2 + 125 * 9) / 612 - 7 / 34) = 58.2, rounded up. */
const NEWER_HALF_CORE = 59;

/**
 * Whether `found` is the weight of `shares`: v1 takes shares, v2 a weight in proportion to the
 * user's, or one more if this one is the user's weight by either formula.
 */
function isWeightOf(
  shares: number,
  found: number,
  userShares: number,
  userWeight: number,
): boolean {
  if (!isUnified) return found === shares;
  if (shares === userShares) return found === userWeight;
  const weight = Math.round((userWeight * shares) / userShares);
  const expected = Math.min(10_000, Math.max(1, weight));
  return (
    found === expected ||
    (found === expected + 1 && [userWeight, NEWER_HALF_CORE].includes(expected))
  );
}

for (const [n, driver] of cgroupDrivers().entries()) limitsWith(driver, 205 + 10 * n);

function limitsWith(driver: CgroupDriver, net: number): void {
  const node = new KubernetesNode(net, driver);
  const real = onNode(node);

  const engineOf = (): KubernetesEngine => new KubernetesEngine({ socketPath: node.socket });
  const writerOf = (): CgroupLimitWriter =>
    new CgroupLimitWriter({
      cgroupVersion: version,
      ...(driver === 'systemd' ? { scopes: new SystemdBus() } : {}),
    });

  async function infoOf(pod: Pod) {
    const engine = engineOf();
    const info = (await engine.snapshot()).find(({ id }) => id === pod.container);
    engine.close();
    if (info === undefined) throw new Error('the pod is not listed');
    return info;
  }

  const inKernel = (pod: Pod): { pod: KernelLimits; container: KernelLimits } => ({
    pod: kernelLimits(pod.cgroup),
    container: kernelLimits(node.pods.groupOf(pod)),
  });

  const writeQuota = (group: string, micros: number): void =>
    isUnified
      ? writeFileSync(join(ROOT, group, 'cpu.max'), `${micros} 100000`)
      : writeFileSync(join(ROOT, 'cpu', group, 'cpu.cfs_quota_us'), String(micros));

  real(`${driver}: from any limits to any others, both levels are as written`, async (t) => {
    const pod = await node.pods.create({ cpu: 500, memoryMiB: 128 });
    const stock = await node.pods.create({ memoryMiB: 128 });
    const memory = 128 * MIB;
    const own = { weight: HALF_CORE, quota: 50_000, memory };
    t.deepEqual(inKernel(pod), { pod: own, container: own });
    const least = { weight: LEAST, quota: -1, memory };
    t.deepEqual(inKernel(stock), { pod: least, container: least });
    const writer = writerOf();
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
          if (!isWeightOf(shares, now.pod.weight, 512, HALF_CORE)) return false;
          if (now.container.weight !== HALF_CORE) return false;
          if (now.pod.quota !== ofPod || now.container.quota !== micros) return false;
          const other = inKernel(stock);
          if (!isWeightOf(shares, other.pod.weight, 2, LEAST)) return false;
          if (other.pod.quota !== -1 || other.container.quota !== micros) return false;
          if (other.container.weight !== LEAST) return false;
          const read = emptyLimits();
          if (!handle.read(read) || read.shares !== shares || read.quota !== limit) return false;
        }
        return true;
      }),
      { numRuns: 60 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 96, max: 128 }), { minLength: 1, maxLength: 5 }),
        async (sizes) => {
          for (const size of sizes) {
            const limit = mebibytes(size);
            if (!isGood(handle.raiseMemory(limit)) && !isGood(await handle.lowerMemory(limit)))
              return false;
            await writer.settled();
            const now = inKernel(pod);
            // The pod's own limit bounds nothing that its container's does not.
            if (now.container.memory !== size * MIB || now.pod.memory !== memory) return false;
            const read = emptyLimits();
            if (!handle.read(read) || read.memory !== limit) return false;
          }
          return true;
        },
      ),
      { numRuns: 20 },
    );
    t.true(isGood(handle.raiseMemory(mebibytes(128))));
    t.is(handle.raiseMemory(mebibytes(256)), 'refused', 'no memory beyond the user’s');
    t.is(inKernel(pod).pod.memory, memory);
    t.is(await handle.lowerMemory(mebibytes(100)), 'written');
    t.is(inKernel(pod).container.memory, 100 * MIB);
    t.is(handle.raiseMemory(mebibytes(128)), 'written');
    await writer.settled();
    t.is(inKernel(pod).container.memory, memory);
    t.is(inKernel(pod).pod.memory, memory);
    handle.close();
    stockHandle.close();
    await writer.close();
    await node.pods.remove(pod);
    await node.pods.remove(stock);
  });

  real(`${driver}: a pod’s quota that another program lowers is raised again`, async (t) => {
    const pod = await node.pods.create({ cpu: 500 });
    const writer = writerOf();
    const handle = writer.open(await infoOf(pod));
    t.is(handle.setQuota(millicores(300)), 'written');
    writeQuota(pod.cgroup, 40_000);
    const read = emptyLimits();
    t.true(handle.read(read));
    t.is(read.quota, millicores(300), 'a higher one of the pod changes nothing');
    // v1 refuses a pod's quota below its container's.
    writeQuota(node.pods.groupOf(pod), 20_000);
    writeQuota(pod.cgroup, 20_000);
    t.true(handle.read(read));
    t.is(read.quota, millicores(200));
    t.is(handle.setQuota(millicores(300)), 'written');
    t.is(inKernel(pod).container.quota, 30_000);
    t.is(inKernel(pod).pod.quota, 50_000);
    handle.close();
    await writer.close();
    await node.pods.remove(pod);
  });

  real(`${driver}: limits that a killed hook left behind are restored`, async (t) => {
    const pod = await node.pods.create({ cpu: 500 });
    const stock = await node.pods.create();
    const before = [inKernel(pod), inKernel(stock)];
    const writer = writerOf();
    for (const one of [pod, stock]) {
      const handle = writer.open(await infoOf(one));
      t.is(handle.setQuota(millicores(1500)), 'written');
      t.is(handle.setShares(9000), 'written');
      // Nothing of the writer's memory is left.
      handle.close();
    }
    await writer.close();
    t.notDeepEqual([inKernel(pod), inKernel(stock)], before);
    const engine = engineOf();
    const fresh = writerOf();
    const { restored, failed } = await restoreAll({ engine, writer: fresh });
    t.is(restored.length, 2);
    t.deepEqual(failed, []);
    t.deepEqual([inKernel(pod), inKernel(stock)], before);
    engine.close();
    await fresh.close();
    await node.pods.remove(pod);
    await node.pods.remove(stock);
  });
}
