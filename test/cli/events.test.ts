import test from 'ava';
import { gleaner } from '../support/gleaner.js';
import { silentListener } from '../support/silent-listener.js';

test('a refused subscription is an error, at once', async (t) => {
  const server = await silentListener((socket) => {
    socket.write('INFO {"version":"2.10.0","max_payload":1048576,"proto":1}\r\n');
    socket.on('data', (bytes) => {
      const text = String(bytes);
      if (text.includes('SUB gleaner.v1.event.'))
        socket.write(`-ERR 'Permissions Violation for Subscription to "gleaner.v1.event.>"'\r\n`);
      if (text.includes('PING')) socket.write('PONG\r\n');
    });
  });
  t.teardown(() => server.close());
  const args = ['--nats', server.url, 'events', '--for', '600'];
  const { code, out, err } = await gleaner(args, {}, 30_000);
  t.is(code, 1);
  t.is(out, '');
  t.regex(err, /^gleaner: NATS refuses this client: .*gleaner\.v1\.event\.>.*GLN_BROKER_AUTH/);
});
