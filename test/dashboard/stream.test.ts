import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import test from 'ava';
import { millis } from '../../config/index.js';
import { Collector } from '../../dashboard/server/collector.js';
import { ContentionWindow } from '../../dashboard/server/contention-window.js';
import { Stream } from '../../dashboard/server/stream.js';
import { until } from '../broker/contract/harness.js';
import { ManualTime } from '../support/manual-time.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';

/** More than the kernel takes for a peer that reads nothing, and than a page may be behind. */
const LARGE = 16 * 1024 * 1024;

test('a slow page misses ticks; one that reads nothing for two minutes is closed', async (t) => {
  const time = new ManualTime();
  const broker = new MemoryBus(time).connect();
  const stream = new Stream(
    new Collector({ broker, clock: time, timers: time, maxFunctions: 5000 }),
    time,
    {
      version: '1.2.3',
      writable: false,
    },
  );
  const responses: ServerResponse[] = [];
  const server = createServer((_, response) => {
    responses.push(response);
    response.writeHead(200);
    stream.add(response);
    response.write(Buffer.alloc(LARGE, 32));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    stream.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const clients: Socket[] = [];
  t.teardown(() => clients.forEach((client) => void client.destroy()));
  const client = (): Socket => {
    const socket = connect({ port, host: '127.0.0.1' }, () =>
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    );
    socket.on('error', () => undefined);
    clients.push(socket);
    return socket;
  };
  const slow = client().pause();
  client().pause();
  await until(() => stream.pages.open === 2, 'both are connected');
  const read = async (bytes: number): Promise<void> => {
    for (let got = 0; got < bytes; ) {
      const chunk: Buffer | null = slow.read();
      if (chunk === null) await new Promise((resolve) => slow.once('readable', resolve));
      else got += chunk.length;
    }
  };
  for (let seconds = 0; seconds < 119; seconds++) {
    stream.tick();
    time.advance(millis(1000));
    // It takes a minute for what the other never takes.
    if (seconds !== 60) continue;
    await read(LARGE);
    await until(
      () => responses.some(({ writableLength }) => writableLength === 0),
      'all of it is taken',
    );
  }
  t.is(stream.pages.open, 2, 'two minutes are not over');
  t.true(stream.pages.missedTicks > 0, 'ticks that they have missed');
  for (let seconds = 0; seconds < 3; seconds++) {
    stream.tick();
    time.advance(millis(1000));
  }
  await until(() => stream.pages.open === 1, 'the one that reads nothing is closed');
  t.is(stream.pages.dead, 1);
  t.false(slow.destroyed);
});

test('steps older than a minute are dropped, even if no page is open', (t) => {
  const contention = new ContentionWindow(60_000);
  const step = (i: number) => ({
    at: i * 1000,
    function: `/guest/f${i}`,
    waited: 1,
    ran: 1,
    throttled: 0,
    span: 1,
  });
  for (let i = 0; i < 100_000; i++) contention.take(step(i));
  // At second 99,999 those since second 99,939: 61 of them.
  t.is(contention.view('h', 99_999_000, 1000).names.length, 61);
});
