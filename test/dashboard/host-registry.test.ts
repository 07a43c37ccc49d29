import test from 'ava';
import type { HostView } from '../../broker/services/index.js';
import { HostRegistry } from '../../dashboard/server/host-registry.js';

test('a host whose tap is lost says so in words, and one that never says anything of its tap does not', (t) => {
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
        'tap lost on br-7: tcpdump ended (SIGKILL); user limits in force since 2026-01-02T03:04:05.000Z',
      ],
      [],
    ],
  );
});
