import test from 'ava';
import { bytes, millicores } from '../../../../config/index.js';
import { NO_LIMIT } from '../../../../openwhisk-plugin/decision/index.js';
import { differsFromUser } from '../../../../openwhisk-plugin/host/cgroup/index.js';

const user = {
  shares: 128,
  quota: millicores(333),
  memory: bytes(200_000_000),
  memoryAndSwap: bytes(200_000_000),
  periodMicros: 100_000,
};
const PAGES_OF_4_KIB = 48_828 * 4096;
const PAGES_OF_64_KIB = 3051 * 65_536;

const differs = (changes: { shares?: number; quota?: number; memory?: number }): boolean => {
  const { shares, quota, memory } = { ...user, memory: PAGES_OF_4_KIB, ...changes };
  return differsFromUser({ shares, quota: millicores(quota), memory: bytes(memory) }, user);
};

test('limits that differ from the user’s only by the kernel’s rounding are unchanged', (t) => {
  t.false(differs({}), '200,000,000 / 4096 = 48,828.1');
  t.false(differs({ memory: PAGES_OF_64_KIB }), '200,000,000 / 65,536 = 3051.8');
  // A quota is whole microseconds per period of 100 ms: steps of .01 millicores.
  t.false(differs({ quota: 333.01 }));
});

test('any other difference is a change, also to and from no limit', (t) => {
  t.true(differs({ shares: 129 }));
  t.true(differs({ quota: 333.1 }));
  t.true(differs({ memory: PAGES_OF_4_KIB + 4096 }));
  t.true(differs({ memory: PAGES_OF_64_KIB - 65_536 }));
  t.true(differs({ memory: NO_LIMIT }));
  const unlimited = { ...user, memory: bytes(NO_LIMIT) };
  t.true(differsFromUser({ ...user, memory: bytes(PAGES_OF_4_KIB) }, unlimited));
  t.false(differsFromUser(unlimited, unlimited));
});
