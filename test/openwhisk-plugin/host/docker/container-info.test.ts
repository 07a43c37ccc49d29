import test from 'ava';
import { NO_LIMIT } from '../../../../openwhisk-plugin/decision/index.js';
import {
  bridgesOf,
  parseStamp,
  userLimits,
} from '../../../../openwhisk-plugin/host/docker/container-info.js';
import {
  ContainerPrefixError,
  managedByPrefix,
} from '../../../../openwhisk-plugin/host/docker/container-names.js';
import { EngineResponseError } from '../../../../openwhisk-plugin/host/engine/index.js';

const host = (fields: Record<string, number>) => ({
  CpuShares: 0,
  NanoCpus: 0,
  CpuQuota: 0,
  CpuPeriod: 0,
  Memory: 0,
  MemorySwap: 0,
  ...fields,
});

test('shares are a weight; without a quota the whole host may be used', (t) => {
  const user = userLimits(host({ CpuShares: 2 }));
  t.is(user.shares, 2);
  t.is(user.quota as number, NO_LIMIT);
  t.is(userLimits(host({})).shares, 1024, 'zero means the kernel default');
});

test('the quota is the one of the container, not a proportion of its memory', (t) => {
  // user-cpus 4, user-memory 2048m, integer division: 256m 0.5, 300m 0.66667, 384m 0.8, 700m 2,
  // 1100m 4 cores.
  for (const [nano, cores] of [
    [500_000_000, 500],
    [666_670_000, 666.67],
    [800_000_000, 800],
    [2_000_000_000, 2000],
    [4_000_000_000, 4000],
  ] as const) {
    t.is(userLimits(host({ NanoCpus: nano })).quota as number, cores);
  }
});

test('a quota given as quota and period counts the same as one given as cpus', (t) => {
  const user = userLimits(host({ CpuQuota: 30_000, CpuPeriod: 50_000 }));
  t.is(user.quota as number, 600);
  t.is(user.periodMicros, 50_000);
  t.is(
    userLimits(host({ CpuQuota: 150_000 })).quota as number,
    1500,
    'the period is 100 ms unless said',
  );
});

test('swap below the memory gives no impossible limit', (t) => {
  // Found by the fuzzer: a sum of memory and swap that the memory did not fit in.
  t.is(userLimits(host({ Memory: 268435456, MemorySwap: 5 })).memoryAndSwap as number, 268435456);
});

test('a quota of -1 beside an old NanoCpus is no quota', (t) => {
  for (const CpuQuota of [-1, -5])
    t.is(userLimits(host({ NanoCpus: 500_000_000, CpuQuota })).quota as number, NO_LIMIT);
});

test('memory and swap are read as the pair they are', (t) => {
  const openwhisk = userLimits(host({ Memory: 268435456, MemorySwap: 268435456 }));
  t.is(openwhisk.memory as number, 268435456);
  t.is(openwhisk.memoryAndSwap as number, 268435456);
  // Docker's default where only memory was given is twice as much; -1 is unlimited swap.
  t.is(userLimits(host({ Memory: 268435456 })).memoryAndSwap as number, 536870912);
  for (const MemorySwap of [-1, -2])
    t.is(userLimits(host({ Memory: 268435456, MemorySwap })).memoryAndSwap as number, NO_LIMIT);
});

test('a limit of 4096 MB is not lost in 32 bits', (t) => {
  t.is(
    userLimits(host({ Memory: 4294967296, MemorySwap: 4294967296 })).memory as number,
    4294967296,
  );
});

test('start times keep their microseconds', (t) => {
  // 2026-11-28T00:07:56Z is 1795824476 s after the epoch (date -u -d … +%s).
  t.is(parseStamp('2026-11-28T00:07:56.123456789Z') as number, 1795824476123456);
  t.is(parseStamp('2026-11-28T00:07:56Z') as number, 1795824476000000);
  t.is(parseStamp('2026-11-28T00:07:56.5Z') as number, 1795824476500000);
  t.is(parseStamp('2026-11-28T02:07:56.000001+02:00') as number, 1795824476000001);
  t.throws(() => parseStamp('yesterday'), { instanceOf: EngineResponseError });
});

test('a prefix is anchored and one invoker does not touch another', (t) => {
  const one = managedByPrefix('wsk1');
  t.true(one('wsk1_5_guest_a'));
  t.false(one('wsk10_5_guest_a'));
  t.false(one('my-wsk1_5_x'));
  const all = managedByPrefix('wsk');
  t.true(all('wsk0_1_guest_plain'));
  t.true(all('wsk00_3_prewarm_nodejs20'));
  t.false(all('my-wsk1_5_x'));
  t.false(all('wsk_admin'));
});

test('a prefix that cannot be anchored is refused', (t) => {
  for (const prefix of ['', '_wsk', 'wsk*', 'wsk 1']) {
    t.throws(() => managedByPrefix(prefix), { instanceOf: ContainerPrefixError }, prefix);
  }
});

test('only bridge networks have a bridge; its name is the option or follows from the id', (t) => {
  const bridges = bridgesOf([
    {
      Id: '0123456789abcdef',
      Name: 'own',
      Driver: 'bridge',
      IPAM: {
        Config: [
          { Subnet: 'fd00::/64', Gateway: 'fd00::1' },
          { Subnet: '10.1.0.0/16', Gateway: '10.1.0.1' },
        ],
      },
      Options: {},
    },
    { Id: 'x', Name: 'overlay', Driver: 'overlay', IPAM: null, Options: null },
  ]);
  t.deepEqual(
    [...bridges.values()],
    [{ interfaceName: 'br-0123456789ab', networkName: 'own', gateway: '10.1.0.1' }],
  );
});
