import test from 'ava';
import { allowed } from '../support/slowness.js';
import { type Reading, type Revert, revertsOf, type Write } from './reverts.js';

const user = { shares: 200, quota: 200, podQuota: 200 };
/** In the kernel's units: 100 us a millicore. Times stretch as the deadlines of reverts.ts do. */
const reading = (at: number, weight: number, quota: number, podQuota = 20_000): Reading => ({
  container: 'c',
  from: allowed(at),
  to: allowed(at) + 1,
  ofPod: { weight, quota: podQuota, memory: 0 },
  ofContainer: { weight: 2, quota, memory: 0 },
});
const write = (at: number, resource: string, readBack: number, who = 'policy:x'): Write => ({
  at: allowed(at),
  who,
  resource,
  container: 'c',
  readBack,
  result: 'written',
  durationMicros: 100,
});
const found = (readings: Reading[], writes: Write[], exact = true): Partial<Revert>[] =>
  revertsOf(readings, writes, new Map([['c', user]]), exact).map(
    ({ limit, from, to, outcome }) => ({
      limit,
      from,
      to,
      outcome,
    }),
  );

test('the user’s limits and what was written last are no reverts', (t) => {
  const readings = [
    reading(0, 200, 20_000),
    reading(1000, 400, 20_000),
    reading(2000, 400, 10_000),
    // The pod's quota follows a raise: its own 200 and the 100 above the container's 200.
    reading(3000, 400, 30_000, 30_000),
  ];
  const writes = [
    write(500, 'cpu.shares', 400),
    write(1500, 'cpu.quota', 100),
    write(2500, 'cpu.quota', 300),
  ];
  t.deepEqual(found(readings, writes), []);
});

test('a value may be the older or the newer one while it is written', (t) => {
  const writes = [write(1000, 'cpu.shares', 400), write(1010, 'cpu.shares', 500)];
  for (const weight of [200, 400, 500])
    t.deepEqual(found([reading(1005, weight, 20_000)], writes), []);
  t.is(found([reading(1005, 300, 20_000)], writes).length, 1);
});

test('a limit that was put back is a revert until it is written again', (t) => {
  const lowered = write(500, 'cpu.quota', 100);
  const readings = [1000, 2000, 3000, 4000].map((at) =>
    reading(at, 200, at === 2000 || at === 3000 ? 20_000 : 10_000),
  );
  const revert = { limit: 'quota', from: allowed(2000), to: allowed(3000) + 1 };
  const noticed = write(3500, 'cpu.quota', 100, 'drift');
  t.deepEqual(found(readings, [lowered, noticed]), [{ ...revert, outcome: 'noticed' }]);
  const next = write(3500, 'cpu.quota', 100);
  t.deepEqual(found(readings, [lowered, next]), [{ ...revert, outcome: 'overwritten' }]);
  t.deepEqual(found(readings, [lowered]), [{ ...revert, outcome: 'unnoticed' }]);
});

test('what is noticed only after a quarter of a minute counts as unnoticed', (t) => {
  const lowered = write(500, 'cpu.quota', 100);
  const readings = [reading(1000, 200, 20_000), reading(17_000, 200, 20_000)];
  const late = write(17_500, 'cpu.quota', 100, 'drift');
  t.is(found(readings, [lowered, late])[0]?.outcome, 'unnoticed');
});

test('where weights are rounded any change of one needs a write', (t) => {
  const readings = [reading(1000, 8, 20_000), reading(2000, 16, 20_000), reading(3000, 8, 20_000)];
  t.deepEqual(found(readings, [write(1500, 'cpu.shares', 400)], false), [
    { limit: 'weight', from: allowed(3000), to: allowed(3000) + 1, outcome: 'unnoticed' },
  ]);
});
