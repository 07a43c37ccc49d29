import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fc, testProp } from '@fast-check/ava';
import test, { type ExecutionContext } from 'ava';
import type { HttpHandler, HttpServerOptions } from '../../../broker/http/http-server.js';
import { HttpServer } from '../../../broker/http/index.js';
import { parseTarget } from '../../../broker/http/request-target.js';
import { silentLogger } from '../../../broker/index.js';
import { PRODUCT_FOLDERS } from '../../support/product-folders.js';
import { openRaw, rawExchange, rawGet } from '../../support/raw-http.js';
import { until } from '../contract/harness.js';

/** Short, so that nothing here waits for seconds. */
const LIMITS = {
  headersMillis: 800,
  requestMillis: 1200,
  keepAliveMillis: 500,
  answerMillis: 2000,
  checkMillis: 50,
};
const text = (body: string) => ({ status: 200, type: 'text/plain', body });

async function served(
  t: ExecutionContext,
  handler: HttpHandler = ({ path }) => text(`path ${path}\n`),
  options: Partial<HttpServerOptions> = {},
): Promise<HttpServer> {
  const server = await HttpServer.listen('127.0.0.1', 0, {
    methods: ['GET', 'HEAD', 'POST'],
    maxConnections: 8,
    maxBodyBytes: 100,
    logger: silentLogger,
    limits: LIMITS,
    ...options,
  });
  server.serve(handler);
  t.teardown(() => server.stop());
  return server;
}

const post = (headers: string, body = '', path = '/'): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n${body}`;

test.serial(
  'any first line and head of a request is answered, and the server goes on',
  async (t) => {
    const server = await served(t);
    const cases: [string, number][] = [
      // `new URL('//', base)` throws: scanners ask for it.
      [rawGet('//'), 200],
      [rawGet('/\\..//%'), 200],
      [rawGet('/%00%ff?%=&&&'), 200],
      [rawGet('http://['), 200],
      [rawGet('http://localhost/a?b'), 200],
      [rawGet('ftp://localhost/'), 400],
      [rawGet('no-path'), 400],
      [rawGet('*'), 400],
      [rawGet(''), 400],
      [rawGet(`/${'a'.repeat(2048)}`), 414],
      [rawGet('/', `X: ${'a'.repeat(20_000)}\r\n`), 431],
      [rawGet('/', 'Expect: a miracle\r\n'), 417],
      [rawGet('/', 'Content-Length: 5\r\n'), 413],
      [rawGet('/', 'Transfer-Encoding: chunked\r\n'), 413],
      [rawGet('/', 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'), 400],
      [rawGet('/', 'Upgrade: websocket\r\n'), 200],
      ['GET / HTTP/1.1\r\n\r\n', 400],
      ['GET / HTTP/1.0\r\n\r\n', 200],
      ['GET / HTTP/3.7\r\n\r\n', 400],
      ['OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 405],
      ['DELETE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 405],
      ['BREW / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
      ['CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n', 405],
      ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
      ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
      ['GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ];
    for (const [request, status] of cases) {
      const { statuses, closed } = await rawExchange(server.port, [request]);
      t.deepEqual(statuses, [status], JSON.stringify(request.slice(0, 60)));
      t.true(closed || status === 200, JSON.stringify(request.slice(0, 60)));
    }
    t.deepEqual((await rawExchange(server.port, [rawGet('/livez')])).statuses, [200]);
    // Each is counted once.
    t.is(
      [...server.counts.values()].reduce((sum, count) => sum + count, 0),
      cases.length + 1,
    );
  },
);

test.serial('bodies are read up to the limit, refused beyond it, and time out', async (t) => {
  const server = await served(t, async ({ body }) => text((await body()).toString()));
  const ask = async (...pieces: string[]) => await rawExchange(server.port, pieces);
  t.regex((await ask(post('Content-Length: 5\r\n', 'hello'))).text, /\r\n\r\nhello$/);
  t.regex(
    (await ask(post('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'))).text,
    /\r\n\r\nhello$/,
  );
  const expecting = await ask(post('Expect: 100-continue\r\nContent-Length: 5\r\n', 'hello'));
  t.deepEqual(expecting.statuses, [100, 200]);
  t.deepEqual((await ask(post('Content-Length: 101\r\n', 'a'.repeat(101)))).statuses, [413]);
  // Not even asked for, where the peer waits for leave to send it.
  t.deepEqual(
    (await ask(post('Expect: 100-continue\r\nContent-Length: 1000000\r\n'))).statuses,
    [413],
  );
  const chunk = `32\r\n${'a'.repeat(50)}\r\n`;
  t.deepEqual(
    (await ask(post('Transfer-Encoding: chunked\r\n'), chunk, chunk, chunk)).statuses,
    [413],
  );
  t.deepEqual(
    (await ask(post('Transfer-Encoding: chunked\r\n', 'no chunk\r\n'))).statuses.slice(0, 1),
    [400],
  );
  // The rest never comes: requestMillis.
  t.deepEqual((await ask(post('Content-Length: 50\r\n', 'hello'))).statuses, [408]);
  // Half closed before its end.
  const left = await rawExchange(server.port, [post('Content-Length: 50\r\n', 'hello')], {
    halfClose: true,
  });
  t.true(left.closed);
  t.true(left.statuses.every((status) => status === 400));
});

test.serial(
  'a peer that sends its head too slowly is answered 408; a half-closed one is closed',
  async (t) => {
    const server = await served(t);
    const bytes = [...rawGet('/').slice(0, 30)];
    t.deepEqual(
      await rawExchange(server.port, bytes, { pauseMillis: 60 }).then(({ statuses, closed }) => ({
        statuses,
        closed,
      })),
      {
        statuses: [408],
        closed: true,
      },
    );
    t.true((await rawExchange(server.port, [])).closed);
    t.true((await rawExchange(server.port, [], { halfClose: true })).closed);
    const half = await rawExchange(server.port, [rawGet('/')], { halfClose: true });
    t.deepEqual([half.statuses, half.closed], [[200], true]);
    // Keep-alive: idle after the answer.
    t.true((await rawExchange(server.port, ['GET / HTTP/1.1\r\nHost: x\r\n\r\n'])).closed);
    await until(() => server.connections === 0, 'all of them are closed');
  },
);

test.serial(
  'a handler that throws, rejects, or never answers causes an error and one log line',
  async (t) => {
    const lines: object[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void lines.push(fields) };
    const server = await served(
      t,
      ({ path }) => {
        if (path === '/throws') throw new TypeError('Invalid URL');
        if (path === '/rejects') return Promise.reject(new Error('rejected'));
        if (path === '/nonsense') return { ...text('x'), headers: { 'X-A': 'b\r\nX-C: d' } };
        return new Promise(() => undefined);
      },
      { logger },
    );
    const statuses = async (path: string) =>
      (await rawExchange(server.port, [rawGet(path)])).statuses;
    t.deepEqual(await statuses('/throws'), [500]);
    t.deepEqual(await statuses('/rejects'), [500]);
    t.deepEqual(await statuses('/nonsense'), []);
    t.deepEqual(await statuses('/never'), [503]);
    t.is(lines.length, 1);
    t.like(lines[0], { event: 'http_handler_failed', path: '/throws', error: 'Invalid URL' });
    t.deepEqual([server.counts.get('500'), server.counts.get('503')], [2, 1]);
  },
);

test.serial('pipelined requests are answered in order, but not behind a slow answer', async (t) => {
  const release: (() => void)[] = [];
  const server = await served(t, ({ path }) =>
    path === '/slow'
      ? new Promise((resolve) => release.push(() => resolve(text('slow'))))
      : text(path),
  );
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const three = await rawExchange(server.port, [get('/a') + get('/b') + rawGet('/c')]);
  t.deepEqual(
    [...three.text.matchAll(/\r\n\r\n(\/\w)/g)].map(([, path]) => path),
    ['/a', '/b', '/c'],
  );
  const ahead = rawExchange(server.port, [get('/slow') + get('/a').repeat(3)]);
  await until(() => release.length === 1, 'the first is under way');
  release[0]!();
  const { text: got, closed } = await ahead;
  t.true(closed);
  t.regex(got, /Connection: close\r\n.*\r\n\r\nslow$/s);
  t.is(server.counts.get('sent_ahead'), 3);
  // Of ten thousand none waits in memory: a hundred are passed over, then the connection is
  // closed.
  t.deepEqual(
    (await rawExchange(server.port, [get('/slow') + get('/a').repeat(10_000)])).statuses,
    [],
  );
  // And of those that could be answered at once a connection gets a hundred answers.
  const many = await rawExchange(server.port, [get('/a').repeat(150)]);
  t.deepEqual([many.statuses.length, many.closed], [100, true]);
});

test.serial('a health check is answered beside any number of idle peers', async (t) => {
  const server = await served(
    t,
    ({ path }) => ({
      ...text(''),
      body: path === '/large' ? Buffer.alloc(16 * 1024 * 1024) : 'ok',
    }),
    {
      limits: {
        ...LIMITS,
        headersMillis: 60_000,
        requestMillis: 60_000,
        keepAliveMillis: 60_000,
        answerMillis: 60_000,
      },
    },
  );
  const probe = async () => (await rawExchange(server.port, [rawGet('/livez')])).statuses;
  for (const request of ['', 'GET / HT', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', rawGet('/large')]) {
    const peers = Array.from({ length: 12 }, () => openRaw(server.port).pause());
    for (const peer of peers) peer.write(request);
    await until(() => server.connections === 8, 'as many as may be');
    t.deepEqual(await probe(), [200], JSON.stringify(request));
    t.true(server.connections <= 8);
    for (const peer of peers) peer.destroy();
    await until(() => server.connections === 0, 'they have left');
  }
  t.true((server.counts.get('evicted') ?? 0) >= 16);
});

test.serial(
  'streams are not evicted, read nothing more from their peer, and end with it',
  async (t) => {
    let open = 0;
    const server = await served(
      t,
      ({ path }) => {
        if (path !== '/stream') return text('ok');
        return {
          type: 'text/event-stream',
          follow: (response) => {
            open++;
            response.write('data: first\n\n');
            response.on('close', () => open--);
          },
        };
      },
      { maxConnections: 3 },
    );
    const peers = [1, 2, 3].map(() => openRaw(server.port));
    for (const peer of peers) peer.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => open === 3, 'three follow');
    // Longer than any limit of an answer.
    await new Promise((resolve) => setTimeout(resolve, 2 * LIMITS.answerMillis));
    t.is(open, 3);
    t.deepEqual((await rawExchange(server.port, [rawGet('/')])).statuses, []);
    t.is(server.counts.get('no_slot'), 1);
    peers[0]!.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => open === 2, 'one that asks for more in the middle is closed');
    peers[1]!.destroy();
    await until(() => open === 1, 'one has left');
    t.deepEqual((await rawExchange(server.port, [rawGet('/')])).statuses, [200]);
    t.deepEqual(
      (
        await rawExchange(server.port, [
          'HEAD /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
        ])
      ).statuses,
      [200],
    );
  },
);

test.serial('a stream behind an unread answer ends when its peer has left', async (t) => {
  let followed = 0;
  let open = 0;
  const server = await served(t, ({ path }) => {
    if (path !== '/stream') return { ...text(''), body: Buffer.alloc(4 * 1024 * 1024) };
    return {
      type: 'text/event-stream',
      follow: (response) => {
        followed++;
        open++;
        response.on('close', () => open--);
      },
    };
  });
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  for (let i = 0; i < 5; i++) {
    const peer = openRaw(server.port).pause();
    peer.write(get('/large') + get('/stream'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    peer.destroy();
  }
  await until(() => server.connections === 0, 'they have left');
  t.is(open, 0);
  t.deepEqual(
    (await rawExchange(server.port, [get('/stream')], { waitMillis: 300 })).statuses,
    [200],
  );
  t.is(followed, 1);
});

test.serial('a peer that does not read its answer is closed in time', async (t) => {
  const server = await served(t, () => ({ ...text(''), body: Buffer.alloc(16 * 1024 * 1024) }));
  const peer = openRaw(server.port).pause();
  peer.write(rawGet('/'));
  await until(() => server.counts.get('stalled') === 1, 'closed');
  await until(() => server.connections === 0, 'gone');
  t.false(peer.destroyed);
  peer.destroy();
});

test.serial('a peer that resets its connection at any point does not affect others', async (t) => {
  const server = await served(t, async ({ body }) => text((await body()).toString()));
  for (const request of [
    '',
    'GET /',
    rawGet('/'),
    post('Content-Length: 50\r\n', 'a'),
    'CONNECT a:1 HTTP/1.1\r\n\r\n',
    'x',
  ])
    for (const wait of [0, 5]) {
      const peer = openRaw(server.port);
      await new Promise((resolve) => peer.once('connect', resolve));
      peer.write(request);
      await new Promise((resolve) => setTimeout(resolve, wait));
      peer.resetAndDestroy();
    }
  t.deepEqual((await rawExchange(server.port, [rawGet('/')])).statuses, [200]);
  await until(() => server.connections === 0, 'nothing is left of them');
});

testProp(
  'a target is a path as it was sent, or null; nothing throws',
  [fc.string({ unit: 'binary' })],
  (t, string) => {
    const target = parseTarget(string);
    t.is(target !== null, string.startsWith('/') || /^https?:\/\/[^/?#]/i.test(string));
    if (string.startsWith('/')) t.true(string.startsWith(target!.path));
  },
);

test('no other file of the product opens an HTTP server', (t) => {
  const found = PRODUCT_FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name))
      .filter((file) => {
        const text = readFileSync(file, 'utf8');
        return /from 'node:https?'/.test(text) && /\bcreateServer\b/.test(text);
      }),
  );
  // The second runs inside a container, in the place of a user's action.
  t.deepEqual(found.sort(), [
    'broker/http/http-server.ts',
    'simulator/invoker-emulator/images/action-proxy.ts',
  ]);
});
