import test, { type ExecutionContext } from 'ava';
import { NatsLink } from '../../broker/nats/nats-link.js';
import { systemClock, systemTimers } from '../../config/index.js';
import { type SilentListener, silentListener } from '../support/silent-listener.js';
import { until } from './contract/harness.js';

const noListener = { up: () => {}, down: () => {}, error: () => {}, subscriptionRefused: () => {} };

function linkTo(t: ExecutionContext, { url }: SilentListener, timeout: number): NatsLink {
  const options = {
    servers: [url],
    timeout,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 10,
    reconnectJitter: 1,
  };
  const link = new NatsLink(options, { timers: systemTimers, clock: systemClock }, noListener);
  t.teardown(() => link.stop());
  link.start();
  return link;
}

test('a failed attempt leaves no socket behind', async (t) => {
  const server = await silentListener();
  t.teardown(() => server.close());
  linkTo(t, server, 50);
  await until(() => server.accepted() >= 3, 'three attempts');
  await until(() => server.open.size <= 1, 'only the last attempt has a socket');
  t.pass();
});

test('a connection that is lost leaves no socket behind while it is tried again', async (t) => {
  let silent = false;
  const server = await silentListener((socket) => {
    if (silent) return;
    socket.write('INFO {"version":"2.10.0","max_payload":1048576,"proto":1}\r\n');
    // The client sends CONNECT and PING together.
    socket.once('data', () => socket.write('PONG\r\n'));
  });
  t.teardown(() => server.close());
  const link = linkTo(t, server, 500);
  await until(() => link.connection !== null, 'connected');
  silent = true;
  const before = server.accepted();
  for (const socket of server.open) socket.destroy();
  await until(() => server.accepted() >= before + 3, 'three attempts to connect again');
  await until(() => server.open.size <= 1, 'only the last attempt has a socket');
  t.pass();
});

test('a stop ends the attempt that waits', async (t) => {
  const server = await silentListener();
  t.teardown(() => server.close());
  const link = linkTo(t, server, 600_000);
  await until(() => server.open.size === 1, 'the server has accepted');
  await link.stop();
  await until(() => server.open.size === 0, 'the socket is closed');
  t.is(server.accepted(), 1);
});
