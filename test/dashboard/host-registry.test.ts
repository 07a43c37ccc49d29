import test from 'ava';
import fc from 'fast-check';
import type { HostView } from '../../broker/services/index.js';
import { isContended } from '../../dashboard/server/contention-window.js';
import { HostRegistry } from '../../dashboard/server/host-registry.js';

test('a lost tap is described in words; a host without tap state has no such text', (t) => {
  const registry = new HostRegistry();
  const since = Date.parse('2026-01-02T03:04:05Z');
  const tap: HostView['tap'] = [
    { interface: 'docker0', state: 'listening', cause: '', since: null },
    { interface: 'br-7', state: 'lost', cause: 'tcpdump ended (SIGKILL)', since },
  ];
  const audit: HostView['audit'] = { cause: null, waiting: 0, dropped: 0 };
  const entry = registry.entry('a');
  Object.assign(entry, { view: { tap, audit }, seen: 1000 });
  Object.assign(registry.entry('b'), { seen: 1000 });
  t.deepEqual(
    registry.rows().map(({ tapLost }) => tapLost),
    [
      [
        'tap lost on br-7: tcpdump ended (SIGKILL); ' +
          'user limits in force since 2026-01-02T03:04:05.000Z',
      ],
      [],
    ],
  );
});

test('a configuration that was refused is shown; older hooks do not report it', (t) => {
  const registry = new HostRegistry();
  const audit = { cause: null, waiting: 0, dropped: 0 };
  const configRejected = 'the configuration is unchanged: mode is wrong';
  Object.assign(registry.entry('a'), { view: { tap: [], audit, configRejected } });
  Object.assign(registry.entry('b'), { view: { tap: [], audit } });
  t.deepEqual(
    registry.rows().map(({ configProblem }) => configProblem),
    [configRejected, ''],
  );
});

test('an audit log that cannot be written is described in words, as `status` does', (t) => {
  const registry = new HostRegistry();
  const audit = { cause: 'ENOSPC: no space left on device', waiting: 12, dropped: 3 };
  Object.assign(registry.entry('a'), { view: { tap: [], audit } });
  Object.assign(registry.entry('b'), { view: { tap: [], audit: { ...audit, cause: null } } });
  registry.entry('c');
  t.deepEqual(
    registry.rows().map(({ auditProblem }) => auditProblem),
    [
      'audit log cannot be written: ENOSPC: no space left on device; 12 lines wait, 3 are lost',
      '',
      '',
    ],
  );
});

test('a host is contended by CPU wait, from a smaller share on if more is asked of it', (t) => {
  const amounts = (cpu: number) => ({ cpu, memory: 0 });
  const contended = (waitShare: number | null, demand: number | null): boolean => {
    const registry = new HostRegistry();
    const report =
      demand === null
        ? null
        : {
            ...{ capacity: amounts(4000), allocatable: amounts(4000), available: amounts(4000) },
            ...{ granted: amounts(0), pool: amounts(0), demand: amounts(demand) },
          };
    Object.assign(registry.entry('a'), { seen: 1000, waitShare, report });
    return registry.rows()[0]!.isContended;
  };
  t.deepEqual(
    [0.1, 0.09].map((share) => contended(share, 1000)),
    [true, false],
  );
  t.deepEqual(
    [0.01, 0.0099].map((share) => contended(share, 4001)),
    [true, false],
  );
  t.false(contended(0.09, null), 'before its first report');
  t.false(contended(null, 1e6), 'not measured');
});

test('no demand makes a host contended while less than 1 % of its time is CPU wait', (t) => {
  const share = fc.double({ min: 0, max: 0.01, maxExcluded: true, noNaN: true });
  const amount = fc.double({ min: 0, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(share, amount, amount, (wait, demand, available) => {
      return !isContended(wait, demand, available);
    }),
  );
  t.pass();
});

test('a host that reports rarely is removed after three missing reports', (t) => {
  const heard = (interval: number | undefined, clockRate: number) => {
    const registry = new HostRegistry();
    Object.assign(registry.entry('a'), { seen: 1000, report: { interval }, clockRate });
    return (seconds: number) => registry.expire(1000 + seconds * 1000, 0).length > 0;
  };
  for (const [interval, clockRate, seconds] of [
    // The longest `hook.stepS`, 600 s.
    [600_000, 1, 1800],
    [1e12, 1, 1800],
    // At tenfold time a report comes every 60 s.
    [600_000, 10, 180],
    [10_000, 1, 120],
    [undefined, 1, 120],
  ] as const) {
    const isRemovedAfter = heard(interval, clockRate);
    t.false(isRemovedAfter(seconds), `${interval}: not yet`);
    t.true(isRemovedAfter(seconds + 1), `${interval}`);
  }
});

test('a host is silent after two of its reports, one that answered after 20 s', (t) => {
  const registry = new HostRegistry();
  const report = {
    ...{ interval: 600_000, capacity: {}, allocatable: {}, available: {} },
    ...{ granted: {}, pool: {}, demand: {} },
  };
  Object.assign(registry.entry('answers'), { report, view: { tap: [], audit: { cause: null } } });
  Object.assign(registry.entry('reports'), { report });
  Object.assign(registry.entry('unknown'), {});
  t.deepEqual(
    registry.rows().map(({ host, silentAfterSeconds }) => [host, silentAfterSeconds]),
    [
      ['answers', 20],
      ['reports', 1200],
      ['unknown', 20],
    ],
  );
});
