import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { type Bytes, mebibytes } from '../../config/index.js';
import { limitRequestsOf } from '../../runtime/limit-requests.js';
import { FakeOpenWhiskRest, KEY } from '../openwhisk-plugin/openwhisk-api/fake-openwhisk-rest.js';
import { gleaner } from '../support/gleaner.js';

async function setUp(t: ExecutionContext, mode = 'enforce') {
  const fakeOpenWhisk = await FakeOpenWhiskRest.start('2.0.0');
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-actions-'));
  t.teardown(() => {
    fakeOpenWhisk.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const at = (name: string): string => join(folder, name);
  writeFileSync(at('keys'), `# guest\n${KEY}\n`, { mode: 0o600 });
  writeFileSync(
    at('requests.json'),
    JSON.stringify([{ function: '/guest/pkg/thumbs', memoryMiB: 192 }]),
  );
  const config = {
    mode,
    hook: { stateDir: at('state') },
    openwhisk: { apiHost: fakeOpenWhisk.url, keysFile: at('keys') },
  };
  writeFileSync(at('gleaner.yaml'), stringify(config));
  const run = (...args: string[]) => gleaner(['--config', at('gleaner.yaml'), 'actions', ...args]);
  return { fakeOpenWhisk, at, run };
}

test('list, dry run, apply and undo', async (t) => {
  const { fakeOpenWhisk, at, run } = await setUp(t);
  fakeOpenWhisk.add('guest/pkg/thumbs', { memory: 512 }, { 'gleaner.slo': '250' });
  const dry = await run('apply', '--requests', at('requests.json'));
  t.is(dry.code, 0, dry.err);
  t.regex(dry.out, /would change +memory 512 +memory 192/);
  t.is(fakeOpenWhisk.puts().length, 0);

  const done = await run('apply', '--requests', at('requests.json'), '--no-dry-run');
  t.regex(done.out, /changed +memory 512 +memory 192/);
  const listed = JSON.parse((await run('list', '-o', 'json')).out);
  t.like(listed, [
    {
      function: '/guest/pkg/thumbs',
      version: '0.0.2',
      limits: { memory: 192 },
      ranges: { memory: { min: 128, max: 512 } },
      original: { memory: 512 },
      annotations: { sloMs: 250 },
    },
  ]);

  t.regex((await run('undo', '/guest/pkg/thumbs')).out, /would undo/);
  t.is((await run('undo', '--no-dry-run')).code, 0);
  t.is(fakeOpenWhisk.actions.get('guest/pkg/thumbs')!.limits.memory, 512);
  t.false(readFileSync(at('state/actions.journal'), 'utf8').includes(KEY.split(':')[1]!));
});

test('Ctrl-C stops before the next change and reports the one made', async (t) => {
  const { fakeOpenWhisk, at, run } = await setUp(t);
  for (const name of ['a', 'b']) fakeOpenWhisk.add(`guest/${name}`, { memory: 512 });
  const requests = ['/guest/a', '/guest/b'].map((fn) => ({ function: fn, memoryMiB: 256 }));
  writeFileSync(at('requests.json'), JSON.stringify(requests));
  const args = [
    '--config',
    at('gleaner.yaml'),
    'actions',
    'apply',
    '--requests',
    at('requests.json'),
    '--no-dry-run',
  ];
  const child = spawn(process.execPath, ['dist/cli/main.js', ...args]);
  t.teardown(() => child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  let asked = false;
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
    // Six a minute: the second waits for ten seconds.
    if (!asked && err.includes('1 of 2: /guest/a changed\n')) asked = child.kill('SIGINT');
  });
  const [code] = await once(child, 'close');
  t.is(code, 130, err);
  t.regex(out, /\/guest\/a +changed/);
  t.regex(err, /interrupted after 1 of 2/);
  t.is(fakeOpenWhisk.puts().length, 1);
  t.is((await run('undo', '--no-dry-run')).code, 0);
  t.is(fakeOpenWhisk.actions.get('guest/a')!.limits.memory, 512);
  const nothing = await run('undo', '/guest/b');
  t.is(nothing.code, 0);
  t.regex(nothing.err, /nothing to undo for these actions/);
});

test('a refused key is named by its position', async (t) => {
  const { at, run } = await setUp(t);
  writeFileSync(at('keys'), `${KEY}\naaaa:bbbb\n`, { mode: 0o600 });
  const { code, err } = await run('list');
  t.is(code, 1);
  t.regex(err, /does not let key 2 of 2 open its namespace \(HTTP 401\)/);
});

test('list shows modes as their owners wrote them', async (t) => {
  const { fakeOpenWhisk, run } = await setUp(t);
  fakeOpenWhisk.add('guest/left', {}, { 'gleaner.mode': 'off' });
  fakeOpenWhisk.add('guest/watched', {}, { 'gleaner.mode': 'observe' });
  const { out } = await run('list');
  t.regex(out, /\/guest\/left .* off /);
  t.regex(out, /\/guest\/watched .* observe /);
});

test('apply names the bounds that keep a limit unchanged', async (t) => {
  const { fakeOpenWhisk, at, run } = await setUp(t);
  fakeOpenWhisk.add(
    'guest/pkg/thumbs',
    { memory: 384 },
    { 'gleaner.bounds': { memoryMiB: { min: 384, max: 512 } } },
  );
  const { out, code } = await run('apply', '--requests', at('requests.json'), '--no-dry-run');
  t.is(code, 0);
  t.regex(
    out,
    /unchanged .*memory: at the edge of the allowed range; memory: at least 384 MB \(\S+bounds\)/,
  );
  t.is(fakeOpenWhisk.puts().length, 0);
});

test('an unreachable API is named at once, with address and cause', async (t) => {
  const { fakeOpenWhisk, run } = await setUp(t);
  const { url } = fakeOpenWhisk;
  fakeOpenWhisk.stop();
  const { code, err } = await run('list');
  t.is(code, 1);
  t.true(err.includes(`${url}: connection refused [GLN_OPENWHISK_AWAY]`), err);
  t.false(err.includes('asked again'), err);
});

test('in mode recommend, the default, nothing is written, and the reason is shown', async (t) => {
  const { fakeOpenWhisk, at, run } = await setUp(t, 'recommend');
  fakeOpenWhisk.add('guest/pkg/thumbs', { memory: 512 });
  const { out, code } = await run('apply', '--requests', at('requests.json'), '--no-dry-run');
  t.regex(out, /unchanged .*memory: mode/);
  t.is(code, 0);
  t.is(fakeOpenWhisk.puts().length, 0);
});

test('with the kill switch set nothing is written, and undo works', async (t) => {
  const { fakeOpenWhisk, at, run } = await setUp(t);
  fakeOpenWhisk.add('guest/pkg/thumbs', { memory: 512 });
  await run('apply', '--requests', at('requests.json'), '--no-dry-run');
  writeFileSync(at('state/kill-switch'), '');
  const { code, err } = await run('apply', '--requests', at('requests.json'), '--no-dry-run');
  t.is(code, 1);
  t.regex(err, /GLN_ACTIONS_HELD/);
  t.is((await run('undo', '--no-dry-run')).code, 0);
  t.is(fakeOpenWhisk.actions.get('guest/pkg/thumbs')!.limits.memory, 512);
});

test('the kill switch stops a run between two writes, and the rest is shown as held', async (t) => {
  const { fakeOpenWhisk, at, run } = await setUp(t);
  for (const name of ['a', 'b']) fakeOpenWhisk.add(`guest/${name}`, { memory: 512 });
  const requests = ['/guest/a', '/guest/b'].map((fn) => ({ function: fn, memoryMiB: 256 }));
  writeFileSync(at('requests.json'), JSON.stringify(requests));
  // The first PUT has read the action; the switch comes with it.
  fakeOpenWhisk.between = () => {
    fakeOpenWhisk.between = null;
    writeFileSync(at('state/kill-switch'), '');
  };
  const { out, code } = await run('apply', '--requests', at('requests.json'), '--no-dry-run');
  t.is(code, 1, 'not all that was asked for is done');
  t.regex(out, /\/guest\/a +changed/);
  t.regex(out, /\/guest\/b +held .*the kill switch is set: .*kill-switch/);
  t.is(fakeOpenWhisk.puts().length, 1);
  const dry = await run('apply', '--requests', at('requests.json'));
  t.is(dry.code, 1, 'nor would it be');
  t.regex(dry.out, /\/guest\/b +held/);
});

test('readable keys, wrong keys and a missing configuration are named without a key', async (t) => {
  const { at, run } = await setUp(t);
  rmSync(at('keys'));
  writeFileSync(at('keys'), `${KEY}\n`, { mode: 0o644 });
  const open = await run('list');
  t.regex(open.err, /others may read it.*GLN_OPENWHISK_KEYS/);
  rmSync(at('keys'));
  writeFileSync(at('keys'), 'someone:wr0ng-s3cr3t\n', { mode: 0o600 });
  const wrong = await run('list');
  t.is(wrong.code, 1);
  t.regex(wrong.err, /HTTP 401.*GLN_OPENWHISK_AUTH/);
  rmSync(at('keys'));
  writeFileSync(at('keys'), 'wr0ng-s3cr3t\n', { mode: 0o600 });
  const malformed = await run('list');
  t.regex(malformed.err, /line 1 is not uuid:key/);
  t.false(`${open.out}${open.err}${wrong.out}${wrong.err}${malformed.err}`.includes('s3cr3t'));
  t.regex((await gleaner(['actions', 'list'])).err, /GLN_OPENWHISK_UNKNOWN/);
});

test('an invalid file of requests is wrong usage', async (t) => {
  const { at, run } = await setUp(t);
  writeFileSync(at('requests.json'), JSON.stringify([{ function: '/guest/thumbs', memory: 192 }]));
  const { code, err } = await run('apply', '--requests', at('requests.json'));
  t.is(code, 2);
  t.regex(err, /memory/);
});

test("only the chosen limits of agents' decisions become requests, none if paused", (t) => {
  const agent = { manager: 'right-size', phase: 'managing', steps: 1, paused: false };
  const decision = {
    nominalMemory: mebibytes(192),
    memory: 1 as Bytes,
    containers: 0,
    concurrency: 4,
    actions: [0, 0, 0],
  };
  const agents = [
    { ...agent, function: '/guest/a', decision },
    { ...agent, function: '/guest/paused', paused: true, decision },
    { ...agent, function: '/guest/young', decision: null },
    { ...agent, function: '/guest/none', decision: { actions: [0, 0, 0] } },
  ];
  t.deepEqual(limitRequestsOf(agents as never, ['memory']), [
    { function: '/guest/a', memory: mebibytes(192) },
  ]);
  t.deepEqual(limitRequestsOf(agents as never, ['concurrency', 'instances']), [
    { function: '/guest/a', concurrency: 4, instances: 1 },
  ]);
});
