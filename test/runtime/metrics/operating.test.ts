import test from 'ava';
import { silentLogger } from '../../../broker/index.js';
import { NatsBroker } from '../../../broker/nats/index.js';
import { configSchema, millis } from '../../../config/index.js';
import { Operating, operatorCheck, pausedText } from '../../../runtime/metrics/index.js';
import { ManualTime } from '../../support/manual-time.js';
import type { MemoryBroker } from '../../support/memory-broker/memory-broker.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { rawExchange, rawGet } from '../../support/raw-http.js';
import { seriesOf } from './exposition.js';

const settings = (hook: string | null) => configSchema.parse({ metrics: { hook } }).metrics;

interface Page {
  readonly status: number;
  readonly text: string;
}

async function started(clock: ManualTime): Promise<{
  operating: Operating;
  page: (path: string, method?: string) => Promise<Page>;
  address: () => string;
}> {
  const operating = new Operating('hook', clock, 1000);
  let address = '';
  const info = (fields: object): void => {
    address = (fields as { address?: string }).address ?? address;
  };
  await operating.listen(settings('127.0.0.1:0'), { ...silentLogger, info });
  const page = async (path: string, method = 'GET'): Promise<Page> => {
    const response = await fetch(`${address}${path}`, { method });
    return { status: response.status, text: await response.text() };
  };
  return { operating, page, address: () => address };
}

test('livez fails for a process that answers while its loop does not run', async (t) => {
  const clock = new ManualTime();
  const { operating, page } = await started(clock);
  t.teardown(() => operating.stop());
  t.is((await page('/livez')).status, 200);
  // The loop beats every second; more than five seconds of silence is stuck.
  clock.advance(millis(5001));
  const stuck = await page('/livez');
  t.is(stuck.status, 503);
  t.regex(stuck.text, /\[-\] loop: last progress 5\.0 s ago/);
  operating.beat();
  t.is((await page('/livez')).status, 200);
});

test('readyz: not before the start, degraded without NATS, failed without engine', async (t) => {
  const clock = new ManualTime();
  const { operating, page } = await started(clock);
  t.teardown(() => operating.stop());
  t.is((await page('/readyz')).status, 503);
  const bus = new MemoryBus();
  const broker = bus.connect();
  let engine: 'ok' | 'failed' = 'ok';
  operating.watch({
    broker,
    update: () => undefined,
    checks: () => [{ name: 'engine', state: engine, detail: engine }],
  });
  t.deepEqual(await page('/readyz'), { status: 200, text: 'ok\n' });
  t.deepEqual(await page('/readyz?verbose'), {
    status: 200,
    text: '[+] engine: ok\n[+] nats: connected\nok\n',
  });
  await broker.close();
  clock.advance(millis(250));
  const away = await page('/readyz');
  t.is(away.status, 200);
  t.is(away.text, 'ok, degraded: nats\n');
  t.regex((await page('/metrics')).text, /^gleaner_nats_connected 0$/m);
  engine = 'failed';
  clock.advance(millis(250));
  t.is((await page('/readyz')).status, 503);
});

test('readyz says why NATS is away, though the attempt failed before', async (t) => {
  const clock = new ManualTime();
  const { operating, page } = await started(clock);
  t.teardown(() => operating.stop());
  // Port 1 is reserved: nothing listens on it.
  const broker = new NatsBroker({ servers: ['nats://127.0.0.1:1'], name: 'hook' });
  t.teardown(() => broker.close());
  await new Promise<void>((resolve) => {
    broker.onStatus(({ kind }) => kind === 'error' && resolve());
  });
  operating.watch({ broker, update: () => undefined, checks: () => [] });
  await new Promise((resolve) => setImmediate(resolve));
  t.regex(
    (await page('/readyz?verbose')).text,
    /^\[~\] nats: cannot reach nats:\/\/127\.0\.0\.1:1: connection refused: user limits and local/m,
  );
});

test('a refused reload is a degraded check and a metric until one is taken', async (t) => {
  const clock = new ManualTime();
  const { operating, page } = await started(clock);
  t.teardown(() => operating.stop());
  operating.watch({ broker: null, update: () => undefined, checks: () => [] });
  t.is((await page('/readyz')).text, 'ok\n');
  const refused = 'the configuration is unchanged: mode is wrong';
  for (const [problem, text, gauge] of [
    [refused, `[~] config: ${refused}`, 1],
    [null, '[+] nats: ', 0],
  ] as const) {
    operating.configRejected = problem;
    clock.advance(millis(250));
    t.true((await page('/readyz?verbose')).text.startsWith(text));
    t.regex((await page('/metrics')).text, new RegExp(`^gleaner_config_rejected ${gauge}$`, 'm'));
  }
});

test('readyz names what an operator has stopped, and the part stays ready', async (t) => {
  const clock = new ManualTime();
  const { operating, page } = await started(clock);
  t.teardown(() => operating.stop());
  const part = { paused: false };
  operating.watch({
    broker: null,
    update: () => undefined,
    checks: () => operatorCheck(pausedText(part)),
  });
  t.is((await page('/readyz')).text, 'ok\n');
  part.paused = true;
  clock.advance(millis(250));
  t.deepEqual(await page('/readyz'), { status: 200, text: 'ok, degraded: operator\n' });
  t.regex((await page('/readyz?verbose')).text, /^\[~\] operator: paused: publishes nothing/m);
});

test('readyz names subjects that NATS refuses, until it accepts them', async (t) => {
  const clock = new ManualTime();
  const { operating, page } = await started(clock);
  t.teardown(() => operating.stop());
  const bus = new MemoryBus();
  const broker = bus.connect() as MemoryBroker;
  operating.watch({ broker, update: () => undefined, checks: () => [] });
  broker.refusedSubjects = ['a.b', 'c.*'];
  t.is((await page('/readyz')).text, 'ok, degraded: subscriptions\n');
  t.regex(
    (await page('/readyz?verbose')).text,
    /^\[~\] subscriptions: NATS refuses a\.b, c\.\*: correct this user's permissions$/m,
  );
  broker.refusedSubjects = [...'abcdefg'];
  clock.advance(millis(250));
  t.regex((await page('/readyz?verbose')).text, /refuses a, b, c, d, e and 2 more: correct/);
  const gauge = async () =>
    /^gleaner_nats_subscriptions_refused (\d+)$/m.exec((await page('/metrics')).text)?.[1];
  t.is(await gauge(), '7');
  bus.takeDown();
  clock.advance(millis(250));
  t.is(await gauge(), '0', 'while disconnected nothing is known to be refused');
  bus.bringUp();
  clock.advance(millis(250));
  t.is(await gauge(), '7');
  broker.refusedSubjects = [];
  clock.advance(millis(250));
  t.is((await page('/readyz')).text, 'ok\n');
  t.is(await gauge(), '0');
});

test('three pages by GET, and nothing else', async (t) => {
  const { operating, page } = await started(new ManualTime());
  t.teardown(() => operating.stop());
  t.is((await page('/metrics')).status, 200);
  t.is((await page('/')).status, 404);
  t.is((await page('/metrics', 'POST')).status, 405);
  t.is((await page('/readyz', 'DELETE')).status, 405);
});

test('a port in use is logged and stops nothing; a network address is a warning', async (t) => {
  const { operating } = await started(new ManualTime());
  t.teardown(() => operating.stop());
  const lines: string[] = [];
  const warn = (fields: object, message: string): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  let address = '';
  const first = new Operating('hook', new ManualTime(), 1000);
  await first.listen(settings('127.0.0.1:0'), {
    ...silentLogger,
    info: (fields) => {
      address = (fields as { address: string }).address;
    },
  });
  t.teardown(() => first.stop());
  const second = new Operating('hook', new ManualTime(), 1000);
  await second.listen(settings(address.replace('http://', '')), { ...silentLogger, warn });
  t.regex(lines[0] ?? '', /no metrics and no health checks: .*EADDRINUSE.*metrics\.hook/);
  const open = new Operating('hook', new ManualTime(), 1000);
  await open.listen(settings('0.0.0.0:0'), { ...silentLogger, warn });
  t.teardown(() => open.stop());
  t.regex(lines[1] ?? '', /open to the network/);
  const none = new Operating('hook', new ManualTime(), 1000);
  await none.listen(settings(null), { ...silentLogger, warn });
  t.is(lines.length, 2);
});

test('a loopback address answers no foreign host name, against DNS rebinding', async (t) => {
  const { operating, address } = await started(new ManualTime());
  t.teardown(() => operating.stop());
  const port = Number(new URL(address()).port);
  const status = async (at: number, head: string): Promise<number | undefined> =>
    (await rawExchange(at, [`GET /metrics HTTP/${head}\r\nConnection: close\r\n\r\n`])).statuses[0];
  for (const name of ['localhost', 'LOCALHOST:9', '127.0.0.1', '10.0.0.7:9781', '[::1]:9781'])
    t.is(await status(port, `1.1\r\nHost: ${name}`), 200, name);
  // Load balancers' checks; browsers always name the host.
  t.is(await status(port, '1.0'), 200);
  for (const name of [
    '',
    'evil.example',
    `evil.example:${port}`,
    'localhost.evil',
    '127.0.0.1.evil',
  ])
    t.is(await status(port, `1.1\r\nHost: ${name}`), 421, name);
  // On a network address Prometheus may use any name.
  const open = new Operating('hook', new ManualTime(), 1000);
  let openPort = 0;
  const info = (fields: object): void => {
    openPort = Number(new URL((fields as { address: string }).address).port);
  };
  await open.listen(settings('0.0.0.0:0'), { ...silentLogger, info });
  t.teardown(() => open.stop());
  t.is(await status(openPort, '1.1\r\nHost: hook.example'), 200);
});

test('a scanner’s request on a metrics port is answered and counted', async (t) => {
  const { operating, page, address } = await started(new ManualTime());
  t.teardown(() => operating.stop());
  const port = Number(new URL(address()).port);
  for (const target of ['//', '///', '//x:y', 'http://[', '/%', '*', 'metrics'])
    for (const status of (await rawExchange(port, [rawGet(target)])).statuses)
      t.true([404, 421, 400].includes(status), target);
  t.is((await page('/livez')).status, 200);
  const series = seriesOf((await page('/metrics')).text);
  // '//', '///', '//x:y' and '/%' are paths without a page, '[' is no name of this host, and the
  // last two are no paths.
  t.is(series.get('gleaner_http_requests_total{result="404"}'), 4);
  t.is(series.get('gleaner_http_requests_total{result="421"}'), 1);
  t.is(series.get('gleaner_http_requests_total{result="400"}'), 2);
});

test('figures and checks are cached for a quarter of a second', async (t) => {
  const clock = new ManualTime();
  const { operating, page } = await started(clock);
  t.teardown(() => operating.stop());
  let collected = 0;
  let checked = 0;
  operating.watch({
    broker: null,
    update: () => void collected++,
    checks: () => {
      checked++;
      return [];
    },
  });
  const all = (): Promise<unknown> =>
    Promise.all(Array.from({ length: 10 }, () => [page('/metrics'), page('/readyz')]).flat());
  await all();
  t.deepEqual([collected, checked], [1, 1]);
  clock.advance(millis(250));
  await all();
  t.deepEqual([collected, checked], [2, 2]);
});
