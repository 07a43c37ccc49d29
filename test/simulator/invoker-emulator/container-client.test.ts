import { createServer, type Server, type Socket } from 'node:net';
import test from 'ava';
import {
  type ClientStyle,
  ContainerClient,
  requestParts,
} from '../../../simulator/invoker-emulator/container-client.js';

interface Listener {
  readonly server: Server;
  readonly port: number;
  /** One entry per arrival of bytes, per connection. */
  readonly arrivals: string[][];
}

/** A container's socket: calls `onData` with everything a connection has sent so far. */
async function listen(onData: (socket: Socket, text: string) => void, port = 0): Promise<Listener> {
  const arrivals: string[][] = [];
  const server = createServer((socket) => {
    const chunks: string[] = [];
    arrivals.push(chunks);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      chunks.push(chunk.toString('latin1'));
      onData(socket, chunks.join(''));
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  return { server, port: typeof address === 'object' && address ? address.port : 0, arrivals };
}

const ok = (body: string): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const complete = (text: string): boolean => {
  const head = text.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return head >= 0 && text.length >= head + 4 + Number(length);
};
const options = { timeoutMs: 2000, retry: false, reschedule: false };

test('The default client sends Apache’s headers in order, one connection a request', async (t) => {
  const { server, port, arrivals } = await listen(
    (socket, text) => complete(text) && socket.write(ok('{}')),
  );
  const client = new ContainerClient('127.0.0.1', port);
  for (let i = 0; i < 2; i++) await client.post('/run', '{"value":{}}', options);
  t.is(arrivals.length, 2);
  t.is(
    arrivals[0]?.join(''),
    [
      'POST /run HTTP/1.1',
      'Accept: application/json',
      'Content-Length: 12',
      'Content-Type: application/json',
      `Host: 127.0.0.1:${port}`,
      'Connection: Keep-Alive',
      'User-Agent: Apache-HttpClient/4.5.13 (Java/17.0.15)',
      'Accept-Encoding: gzip,deflate',
      '',
      '{"value":{}}',
    ].join('\r\n'),
  );
  server.close();
});

test('The default client sends a body over 8 KiB with its head separately', (t) => {
  const parts = (style: ClientStyle, length: number): number[] =>
    requestParts(style, '172.17.0.2:8080', '/run', Buffer.alloc(length)).map((part) => part.length);
  // The head of a body of four digits, by the headers of the test above.
  const head = parts('apache', 9000)[0] as number;
  t.deepEqual(parts('apache', 8192 - head), [8192]);
  t.deepEqual(parts('apache', 8193 - head), [head, 8193 - head]);
  t.deepEqual(parts('apache', 9000), [head, 9000]);
  t.is(parts('akka', 900_000).length, 1);
});

test('The kept-alive client uses its connection again', async (t) => {
  let answered = 0;
  const { server, port, arrivals } = await listen((socket, text) => {
    const calls = text.split('POST ').length - 1;
    if (calls > answered) {
      answered = calls;
      socket.write(ok('{}'));
    }
  });
  const client = new ContainerClient('127.0.0.1', port, { style: 'akka' });
  for (let i = 0; i < 3; i++) t.is((await client.post('/run', '{}', options)).kind, 'response');
  t.is(arrivals.length, 1);
  client.close();
  server.close();
});

test('A refused init is tried again every 50 ms until the port is open', async (t) => {
  const free = await listen(() => undefined);
  await new Promise((resolve) => free.server.close(resolve));
  const client = new ContainerClient('127.0.0.1', free.port);
  const begin = performance.now();
  const answer = client.post('/init', '{}', { timeoutMs: 5000, retry: true, reschedule: false });
  await new Promise((resolve) => setTimeout(resolve, 180));
  const { server } = await listen(
    (socket, text) => complete(text) && socket.write(ok('{"OK":true}')),
    free.port,
  );
  t.like(await answer, { kind: 'response', status: 200, entity: '{"OK":true}' });
  // Tries at 0, 50, 100, 150 and 200 ms: the fifth finds it. Slower machines only come later.
  t.true(performance.now() - begin >= 180);
  server.close();
});

test('A refused init ends as a timeout when its limit is over', async (t) => {
  const free = await listen(() => undefined);
  await new Promise((resolve) => free.server.close(resolve));
  const client = new ContainerClient('127.0.0.1', free.port);
  const begin = performance.now();
  t.deepEqual(
    await client.post('/init', '{}', { timeoutMs: 200, retry: true, reschedule: false }),
    {
      kind: 'timeout',
    },
  );
  t.true(performance.now() - begin >= 200);
});

test('A refused run is a connection error, or in a warm container a reschedule', async (t) => {
  const free = await listen(() => undefined);
  await new Promise((resolve) => free.server.close(resolve));
  const client = new ContainerClient('127.0.0.1', free.port);
  t.deepEqual(await client.post('/run', '{}', options), { kind: 'connection-error' });
  await t.throwsAsync(client.post('/run', '{}', { ...options, reschedule: true }), {
    code: 'GLN_EMULATOR_CONTAINER_HEALTH',
  });
});

test('Silence beyond the limit and a close without answer are connection errors', async (t) => {
  const silent = await listen(() => undefined);
  const begin = performance.now();
  const client = new ContainerClient('127.0.0.1', silent.port);
  t.deepEqual(await client.post('/run', '{}', { ...options, timeoutMs: 150 }), {
    kind: 'connection-error',
  });
  t.true(performance.now() - begin >= 145);
  silent.server.close();
  const closing = await listen((socket, text) => complete(text) && socket.end());
  t.deepEqual(await new ContainerClient('127.0.0.1', closing.port).post('/run', '{}', options), {
    kind: 'connection-error',
  });
  closing.server.close();
});

test('A peer that stops reading a large body runs into the limit, too', async (t) => {
  const { server, port } = await listen((socket) => socket.pause());
  const client = new ContainerClient('127.0.0.1', port);
  const answer = await client.post('/run', 'x'.repeat(16 * 1024 * 1024), {
    ...options,
    timeoutMs: 200,
  });
  t.deepEqual(answer, { kind: 'connection-error' });
  server.close();
});

test('A long answer is cut, one without length counts as none', async (t) => {
  const answers = [
    ok('y'.repeat(50)),
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    `HTTP/1.1 100 Continue\r\n\r\n${ok('{}')}`,
    'HTTP/1.1 204 No Content\r\n\r\n',
  ];
  const { server, port } = await listen(
    (socket, text) => complete(text) && socket.end(answers.shift() ?? ''),
  );
  const client = new ContainerClient('127.0.0.1', port);
  const cut = { ...options, maxResponse: 20, truncation: 10 };
  t.deepEqual(await client.post('/run', '{}', cut), {
    kind: 'response',
    status: 200,
    entity: 'y'.repeat(10),
    truncatedFrom: 50,
  });
  t.deepEqual(await client.post('/run', '{}', options), { kind: 'no-response' });
  t.like(await client.post('/run', '{}', options), { kind: 'response', entity: '{}' });
  t.deepEqual(await client.post('/run', '{}', options), { kind: 'no-response' });
  server.close();
});
