import test from 'ava';
import type { HostView } from '../../broker/services/index.js';
import { HostRegistry } from '../../dashboard/server/host-registry.js';

test('a lost tap is described in words; a host without tap state has no such text', (t) => {
  const registry = new HostRegistry();
  const since = Date.parse('2026-01-02T03:04:05Z');
  const tap: HostView['tap'] = [
    { interface: 'docker0', state: 'listening', cause: '', since: null },
    { interface: 'br-7', state: 'lost', cause: 'tcpdump ended (SIGKILL)', since },
  ];
  const entry = registry.entry('a');
  Object.assign(entry, { view: { tap }, seen: 1000 });
  Object.assign(registry.entry('b'), { seen: 1000 });
  t.deepEqual(
    registry.rows(1000).map(({ tapLost }) => tapLost),
    [
      [
        'tap lost on br-7: tcpdump ended (SIGKILL); ' +
          'user limits in force since 2026-01-02T03:04:05.000Z',
      ],
      [],
    ],
  );
});
