import test from 'ava';
import { ServiceError } from '../../broker/index.js';
import { callService, serve } from '../../broker/services/index.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';

test('a request for something unknown is an error, but not a failure of the service', async (t) => {
  const bus = new MemoryBus();
  const service = serve(bus.connect(), {
    name: 'gleaner-test',
    version: '1.0.0',
    description: 'fails in two ways',
    host: 'here',
    endpoints: {
      explain: {
        description: 'nothing',
        handle: (request) => {
          if ((request as { broken?: boolean }).broken) throw new TypeError('x is not a function');
          throw new ServiceError(404, 'no such function');
        },
      },
    },
  });
  t.teardown(() => service.stop());
  const ask = (request: object): Promise<unknown> =>
    callService(bus.connect(), { service: 'gleaner-test', endpoint: 'explain', request });
  await t.throwsAsync(ask({}), { message: 'no such function' });
  const [figures] = service.stats().endpoints;
  t.like(figures, { num_requests: 1, num_errors: 1, data: { failures: 0, last_failure: '' } });
  await t.throwsAsync(ask({ broken: true }));
  t.like(figures, {
    num_requests: 2,
    num_errors: 2,
    data: { failures: 1, last_failure: 'x is not a function' },
  });
});
