import test from 'ava';
import { bytes, mebibytes, millicores } from '../../../config/index.js';
import { ContainerState } from '../../../openwhisk-plugin/decision/container-state.js';
import { MemoryHeadroom } from '../../../openwhisk-plugin/decision/headroom.js';
import type { UserLimits } from '../../../openwhisk-plugin/decision/limits.js';

const HOST = {
  cpu: millicores(8000),
  allocatableCpu: millicores(8000),
  memory: mebibytes(16 * 1024),
  allocatableMemory: mebibytes(16 * 1024),
};

const pod = (shares: number, quota = 0): UserLimits => ({
  shares,
  quota: millicores(quota),
  memory: mebibytes(256),
  memoryAndSwap: mebibytes(256),
  periodMicros: 100_000,
  sharesAreRequest: true,
});

test('the user CPU of a pod is its quota, else its request, else one core', (t) => {
  const cpuOf = (user: UserLimits): number => new ContainerState(user, HOST).userCpu;
  t.is(cpuOf(pod(512, 250)), 250);
  // kubelet gives 1024 shares a core: 512 are half a core.
  t.is(cpuOf(pod(512)), 500);
  // 2 shares are kubelet's minimum: there is no request.
  t.is(cpuOf(pod(2)), 1000);
  t.is(cpuOf(pod(65_536)), 8000, 'no more than the host has');
});

test('shares of pods show no user-memory, so nothing is lent from it', (t) => {
  const headroom = new MemoryHeadroom(mebibytes(16 * 1024), bytes(0), bytes(0));
  // As Docker's, 256 MiB at 128 shares would mean 2 GiB.
  headroom.seen('invoker0', pod(128));
  headroom.update(bytes(0), bytes(0));
  t.is(headroom.free, bytes(0));
});
