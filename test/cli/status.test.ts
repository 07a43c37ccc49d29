import test from 'ava';
import { missingServices } from '../../cli/commands/status.js';

const agents = (host: string, id: string) => ({ service: 'gleaner-agents', host, id });

test('an expected instance is missing if nothing of its service and host answers', (t) => {
  const expected = [
    agents('h1', 'killed'),
    agents('h1', 'restarted'),
    agents('h2', 'slow'),
    { service: 'gleaner-hook', host: 'h1', id: 'hook' },
  ];
  const found = [
    { name: 'gleaner-agents', id: 'restarted', version: '1.0.0', metadata: { host: 'h1' } },
    { name: 'gleaner-hook', id: 'hook', version: '1.0.0', metadata: { host: 'h1' } },
  ];
  t.deepEqual(missingServices(expected, found), [{ service: 'gleaner-agents', host: 'h2' }]);
});
