import { request } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { buckets } from '../../broker/index.js';
import { decodeMode, modeKey } from '../../broker/messages/index.js';
import { systemClock, systemTimers } from '../../config/index.js';
import { type RunningDashboard, runDashboard, Token } from '../../dashboard/index.js';
import type { FunctionDetail, Snapshot, Tick } from '../../dashboard/wire.js';
import { until } from '../support/gleaner.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';
import { HOST, SyntheticGleaner } from './synthetic.js';

const TOKEN = 'a token of some length';

async function stage(t: ExecutionContext, functions: number, token: string | null = TOKEN) {
  const bus = new MemoryBus(systemTimers);
  const broker = bus.connect();
  const gleaner = new SyntheticGleaner(bus.connect(), functions);
  gleaner.start();
  const dashboard = await runDashboard({
    broker,
    clock: systemClock,
    timers: systemTimers,
    host: '127.0.0.1',
    port: 0,
    token: token === null ? null : new Token(token),
    maxFunctions: 5000,
    version: '1.2.3',
  });
  t.teardown(async () => {
    gleaner.stop();
    await dashboard.stop();
  });
  return { bus, gleaner, dashboard };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Uses node:http, since `fetch` does not allow to set the Host header. */
function ask(
  { address }: RunningDashboard,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      `${address}${path}`,
      { method: options.method ?? 'GET', headers: options.headers ?? {} },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk) => (text += chunk));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }),
        );
      },
    );
    call.on('error', reject);
    call.end(options.body);
  });
}

const act = (
  dashboard: RunningDashboard,
  body: object,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  ask(dashboard, '/api/act', {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** The first events of the stream, until `enough`. */
async function follow(
  dashboard: RunningDashboard,
  enough: (events: { kind: string; data: Tick }[]) => boolean,
) {
  const controller = new AbortController();
  const response = await fetch(`${dashboard.address}/api/stream`, { signal: controller.signal });
  const events: { kind: string; data: Tick }[] = [];
  let text = '';
  for await (const chunk of response.body!) {
    text += new TextDecoder().decode(chunk);
    const parts = text.split('\n\n');
    text = parts.pop()!;
    for (const part of parts) {
      const [, kind, data] = /^event: (\w+)\ndata: (.*)$/s.exec(part)!;
      events.push({ kind: kind!, data: JSON.parse(data!) as Tick });
    }
    if (enough(events)) break;
  }
  controller.abort();
  return events;
}

test('only the files of the page are served, with a strict content policy', async (t) => {
  const { dashboard, gleaner } = await stage(t, 3);
  const page = await ask(dashboard, '/');
  t.is(page.status, 200);
  const policy = String(page.headers['content-security-policy']);
  t.regex(policy, /default-src 'none'/);
  t.notRegex(policy, /unsafe/);
  t.notRegex(page.text, /https?:\/\//, 'nothing is loaded from elsewhere');
  // Every part the page names is there; no script or style stands in the page itself.
  for (const [, path] of page.text.matchAll(/(?:src|href)="(\/[^"]*)"/g))
    t.is((await ask(dashboard, path!)).status, 200, path);
  t.notRegex(page.text, /<style|style="|<script>|onclick/);
  for (const path of [
    '/../package.json',
    '/app/../../package.json',
    '/app/%2e%2e/main.js',
    '/etc/passwd',
    '/app/',
  ])
    t.is((await ask(dashboard, path)).status, 404, path);
  t.is((await ask(dashboard, '/', { headers: { host: 'evil.example' } })).status, 421);
  t.is((await ask(dashboard, '/api/state', { headers: { host: 'evil.example' } })).status, 421);
  // A foreign page cannot read the answer, but each request costs the hooks one, too.
  for (const site of ['cross-site', 'same-site'])
    for (const path of ['/api/state', '/api/stream', `/api/function?name=${gleaner.names[0]}`])
      t.is((await ask(dashboard, path, { headers: { 'sec-fetch-site': site } })).status, 403, path);
  for (const site of ['same-origin', 'none'])
    t.is((await ask(dashboard, '/api/state', { headers: { 'sec-fetch-site': site } })).status, 200);
  t.is((await ask(dashboard, '/', { method: 'PUT' })).status, 405);
  t.is((await ask(dashboard, '/', { method: 'HEAD' })).text, '');
});

test('the stream begins with everything and goes on with what has changed', async (t) => {
  const { dashboard, gleaner } = await stage(t, 450);
  // Pages of 200 functions a second: three seconds for 450.
  const events = await follow(dashboard, (seen) => {
    const names = new Set(
      seen.flatMap(({ data }) => (data.functions ?? []).map(({ name }) => name)),
    );
    return (
      names.size === 450 &&
      seen.some(({ data }) => data.meanField !== undefined && (data.services?.length ?? 0) > 0)
    );
  });
  t.is(events[0]?.kind, 'snapshot');
  const snapshot = events[0]!.data as Snapshot;
  t.true(snapshot.writable);
  t.is(snapshot.version, '1.2.3');
  t.deepEqual(snapshot.pages, { open: 1, missedTicks: 0, dead: 0 });
  const all = events.map(({ data }) => data);
  const rows = new Map(
    all.flatMap(({ functions }) => functions ?? []).map((row) => [row.name, row]),
  );
  t.like(rows.get(gleaner.names[0]!), {
    userCpu: 1000,
    cpu: 700,
    containers: 2,
    manager: 'simppo',
    phase: 'serving',
    paused: false,
  });
  const field = all
    .map(({ meanField }) => meanField)
    .filter(Boolean)
    .at(-1)!;
  t.like(field, { publisher: 'aggregator0', epoch: 5, members: 4, capacityCpu: 8000 });
  t.deepEqual(
    field.features.map(({ mean, deviation }) => [mean, deviation]),
    [
      [0.5, 0.5],
      [1, 0],
    ],
  );
  const last = all.at(-1)!;
  t.deepEqual(last.totals.phases, { offline: 2, serving: 448 });
  t.is(last.hosts[0]?.host, HOST);
  t.is(last.hosts[0]?.clockRate, 1);
  // Every activation takes 40 to 88 ms, of an objective of 100 or 200.
  t.is(last.totals.sloKept, 1);
  const ids = all.flatMap(({ events: told }) => told ?? []).map(({ id }) => id);
  t.true(ids.length > 0);
});

test('a function has history, activations and decisions; an unknown one is 404', async (t) => {
  const { dashboard, gleaner } = await stage(t, 2);
  const name = gleaner.names[0]!;
  const path = `/api/function?name=${encodeURIComponent(name)}`;
  await until(
    async () => (await ask(dashboard, path)).status === 200,
    5000,
    'the function is known',
  );
  const detail = JSON.parse((await ask(dashboard, path)).text) as FunctionDetail;
  t.is(detail.history.userCpu[0], 1000);
  t.is(detail.history.cpu[0], 700);
  t.is(detail.history.peakCpu[0], 600);
  t.like(detail.activations[0], { duration: 61.5, harvested: 18, host: HOST });
  t.like(detail.activations[0]?.cpu, {
    lower: 650,
    upper: 1000,
    granted: 700,
    peak: 600,
    why: 'uses less than its limit; target',
  });
  t.like(detail.steps[0], {
    step: 41,
    priceCpu: 0.5,
    sent: true,
    requested: { cpu: '0.7 cores', memory: null, weight: null },
  });
  t.true(detail.learning.reward.length > 0);
  t.is((await ask(dashboard, '/api/function?name=%2Fguest%2Fnone')).status, 404);
  t.is((await ask(dashboard, '/api/function?name=nonsense')).status, 404);
});

test('the token allows pause, resume, restore, retrain and mode changes only', async (t) => {
  const { dashboard, gleaner, bus } = await stage(t, 2);
  const name = gleaner.names[0]!;
  const kv = bus.connect().keyValue(buckets.mode);
  const kept = async () => {
    const entry = await kv.get(modeKey(name));
    const decoded = entry?.value ? decodeMode(entry.value) : null;
    return decoded?.ok ? decoded.message : null;
  };
  t.is((await act(dashboard, { action: 'pause', function: name })).status, 200);
  t.like(await kept(), { paused: true, author: 'dashboard' });
  t.is((await act(dashboard, { action: 'mode', function: name, mode: 'observe' })).status, 200);
  t.is((await act(dashboard, { action: 'resume', function: name })).status, 200);
  t.like(await kept(), { paused: false, mode: 'observe' });
  gleaner.mode = 'observe';
  gleaner.restrictedBy = 'functions.exclude';
  const excluded = await act(dashboard, { action: 'mode', function: name, mode: 'enforce' });
  t.like(JSON.parse(excluded.text), {
    ok: false,
    text: `not in force on ${HOST}: mode observe by functions.exclude`,
  });
  gleaner.killedBy = ['file', 'kv'];
  gleaner.restrictedBy = null;
  const held = `the kill switch holds on ${HOST} (file, kv)`;
  for (const [change, done] of [
    [{ action: 'mode', mode: 'enforce' }, 'all functions: mode enforce'],
    [{ action: 'resume', function: name }, `${name} is managed again`],
  ] as const)
    t.like(JSON.parse((await act(dashboard, change)).text), {
      text: `${done}; ${held}: user limits apply until it is released`,
    });
  t.is((await act(dashboard, { action: 'restore' })).status, 200);
  t.is(gleaner.restored, 1);
  t.regex(
    (await act(dashboard, { action: 'retrain', function: name })).text,
    /is retrained on agents0/,
  );
  for (const wrong of [
    { action: 'kill' },
    { action: 'pause' },
    { action: 'pause', function: 'x' },
    { action: 'mode', mode: 'fast' },
  ])
    t.is((await act(dashboard, wrong)).status, 400, JSON.stringify(wrong));
  t.is(
    (
      await ask(dashboard, '/api/act', {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}` },
        body: '{',
      })
    ).status,
    400,
  );
  // Not from another origin, and not without the token. After five wrong tokens all are refused for
  // the rest of the second.
  t.is(
    (await act(dashboard, { action: 'restore' }, { origin: 'http://evil.example' })).status,
    403,
  );
  t.is(
    (await act(dashboard, { action: 'restore' }, { 'sec-fetch-site': 'cross-site' })).status,
    403,
  );
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++)
    statuses.push(
      (await act(dashboard, { action: 'restore' }, { authorization: 'Bearer wrong' })).status,
    );
  t.true(statuses.includes(401) && statuses.includes(429));
  // A page without a token guesses none, so that asking for it does not use up the wrong ones.
  for (let i = 0; i < 12; i++) {
    const asked = await ask(dashboard, '/api/act', {
      method: 'POST',
      body: '{"action":"restore"}',
    });
    t.is(asked.status, 401);
  }
  t.is(gleaner.restored, 1);
});

test('without a token nothing can be changed', async (t) => {
  const { dashboard, gleaner } = await stage(t, 2, null);
  const answer = await act(dashboard, { action: 'restore' });
  t.is(answer.status, 403);
  t.regex(answer.text, /read-only/);
  t.is(gleaner.restored, 0);
  t.is((JSON.parse((await ask(dashboard, '/api/state')).text) as Snapshot).writable, false);
});
