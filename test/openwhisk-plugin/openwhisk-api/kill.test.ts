import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { Journal, openChanges } from '../../../openwhisk-plugin/openwhisk-api/index.js';
import { allowed } from '../../support/slowness.js';
import { versions } from './fake-openwhisk-rest.js';
import { request, rig } from './rig.js';

const CHILD = fileURLToPath(new URL('changing-child.js', import.meta.url));
const names = Array.from({ length: 20 }, (_, i) => `f${i}`);
/** Users' own sizes, each another. */
const userMemory = (i: number): number => 300 + i;

function start(
  t: ExecutionContext,
  api: string,
  journal: string,
  mib = 128,
): { child: ChildProcess; ended: Promise<void> } {
  const child = spawn(process.execPath, [CHILD, api, journal, String(mib), ...names], {
    stdio: 'inherit',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  t.teardown(() => child.kill('SIGKILL'));
  return { child, ended };
}

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + allowed(30_000);
  while (!condition()) {
    if (performance.now() > end) throw new Error('not within 30 s');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

for (const [i, version] of versions.entries()) {
  // Killed while the 1st, the 8th and the 20th change is on its way, once carried out by OpenWhisk
  // and once not.
  const at = [0, 7, 19][i]!;
  for (const carriedOut of [true, false]) {
    const change = `change ${at + 1} of 20, ${carriedOut ? '' : 'not '}carried out`;
    test(`${version}: after kill -9 in ${change}, every change is undone`, async (t) => {
      const { fakeOpenWhisk, undo, open, path } = await rig(t, version);
      for (const [k, name] of names.entries())
        fakeOpenWhisk.add(`guest/${name}`, { memory: userMemory(k) });
      const original = structuredClone([...fakeOpenWhisk.actions]);
      fakeOpenWhisk.hangAtPut = { number: at + 1, carriedOut };
      const { child, ended } = start(t, fakeOpenWhisk.url, path);
      await until(() => fakeOpenWhisk.puts().length === at + 1);
      child.kill('SIGKILL');
      await ended;
      const changed = [...fakeOpenWhisk.actions.values()].filter(
        ({ limits }) => limits.memory === 128,
      ).length;
      t.is(changed, at + (carriedOut ? 1 : 0));

      const outcomes = await undo();
      t.true(outcomes.every(({ result }) => result !== 'failed'));
      t.deepEqual(
        [...fakeOpenWhisk.actions].map(([name, { limits, exec }]) => [name, limits, exec]),
        original.map(([name, { limits, exec }]) => [name, limits, exec]),
      );
      t.is(open().size, 0);
    });
  }
}

test('a change that OpenWhisk carries out only after undo has looked is undone too', async (t) => {
  const { fakeOpenWhisk, undo, open, path } = await rig(t, '2.0.0', {
    whileWaiting: (one) => {
      if (one.actions.get('guest/f0')!.version === '0.0.1')
        one.userSets('guest/f0', { memory: 128 });
    },
  });
  for (const name of names) fakeOpenWhisk.add(`guest/${name}`, { memory: 512 });
  fakeOpenWhisk.hangAtPut = { number: 1, carriedOut: false };
  const { child, ended } = start(t, fakeOpenWhisk.url, path);
  await until(() => fakeOpenWhisk.puts().length === 1);
  child.kill('SIGKILL');
  await ended;
  t.like(await undo(), [{ result: 'undone', from: { memory: 128 }, to: { memory: 512 } }]);
  t.is(fakeOpenWhisk.actions.get('guest/f0')!.limits.memory, 512);
  t.is(open().size, 0);
});

test('after repeated kill -9 in changes and undos every user limit is restored', async (t) => {
  const { fakeOpenWhisk, undo, path } = await rig(t, '2.0.0');
  for (const [k, name] of names.entries())
    fakeOpenWhisk.add(`guest/${name}`, { memory: userMemory(k) });
  for (const [mib, puts] of [
    [128, 5],
    [192, 17],
    [160, 9],
  ] as const) {
    const before = fakeOpenWhisk.puts().length;
    const { child, ended } = start(t, fakeOpenWhisk.url, path, mib);
    await until(() => fakeOpenWhisk.puts().length >= before + puts);
    child.kill('SIGKILL');
    await ended;
  }
  // Undone, but the process ended before it could write that down.
  const atKill = readFileSync(path, 'utf8');
  await undo();
  writeFileSync(path, atKill);
  const before = fakeOpenWhisk.puts().length;
  await undo();
  t.is(fakeOpenWhisk.puts().length, before);
  t.deepEqual(
    [...fakeOpenWhisk.actions.values()].map(({ limits }) => limits.memory),
    names.map((_, k) => userMemory(k)),
  );
});

test('every change is in the journal, on the disk, before OpenWhisk hears of it', async (t) => {
  const { fakeOpenWhisk, apply, path } = await rig(t, '2.0.0');
  fakeOpenWhisk.add('guest/f0', { memory: 512 });
  let atPut = '';
  fakeOpenWhisk.between = () => {
    atPut = readFileSync(path, 'utf8');
  };
  await apply(request('/guest/f0', 256));
  const lines = atPut.trim().split('\n');
  t.is(lines.length, 1);
  t.like(JSON.parse(lines[0]!), {
    kind: 'intent',
    function: '/guest/f0',
    version: '0.0.1',
    original: { memory: 512 },
    to: { memory: 256 },
  });
});

test('a torn last line is forgotten, and the next begins on a line of its own', async (t) => {
  const { fakeOpenWhisk, apply, undo, path } = await rig(t, '2.0.0');
  for (const name of ['f0', 'f1', 'f2']) fakeOpenWhisk.add(`guest/${name}`, { memory: 512 });
  await apply(request('/guest/f0', 256));
  appendFileSync(path, '{"v":1,"kind":"intent","function":"/guest/f1","orig');
  await apply(request('/guest/f2', 256));
  t.deepEqual([...openChanges(Journal.read(path)).keys()], ['/guest/f0', '/guest/f2']);
  t.is((await undo()).length, 2);
});

test('a byte that is not UTF-8 does not lengthen the journal at its next opening', async (t) => {
  const { fakeOpenWhisk, apply, undo, path } = await rig(t, '2.0.0');
  for (const name of ['f0', 'f1']) fakeOpenWhisk.add(`guest/${name}`, { memory: 512 });
  await apply(request('/guest/f0', 256));
  const line = JSON.stringify({ v: 1, kind: 'kept', function: '/guest/?', at: 1 });
  const damaged = Buffer.from(`${line}\n`);
  damaged[damaged.indexOf('?')] = 0xff;
  appendFileSync(path, damaged);
  const before = readFileSync(path);
  (await Journal.open(path)).close();
  t.deepEqual(readFileSync(path), before);
  await apply(request('/guest/f1', 256));
  t.is((await undo()).length, 2);
});

test('a damaged line is not passed over: what it told could be undone no more', async (t) => {
  const { fakeOpenWhisk, apply, path } = await rig(t, '2.0.0');
  fakeOpenWhisk.add('guest/f0', { memory: 512 });
  await apply(request('/guest/f0', 256));
  const text = readFileSync(path, 'utf8');
  for (const damaged of [
    text.replace('intent', 'in ent'),
    text.replace('{', ''),
    text.replace('"v":1', '"v":2'),
  ]) {
    writeFileSync(path, damaged);
    const error = await t.throwsAsync(Journal.open(path), { code: 'GLN_ACTIONS_JOURNAL' });
    t.regex(error!.message, /line 1 is of another version of Gleaner, or damaged/);
  }
  // Not locked by the failed attempts.
  writeFileSync(path, text);
  (await Journal.open(path)).close();
});

test('a long journal forgets what was undone, and nothing that stands', async (t) => {
  const { fakeOpenWhisk, apply, undo, path } = await rig(t, '2.0.0');
  for (const name of ['f0', 'f1']) fakeOpenWhisk.add(`guest/${name}`, { memory: 512 });
  await apply(request('/guest/f0', 256));
  const old = { v: 1, function: '/guest/old', at: 0 };
  const pair = [
    { ...old, kind: 'intent', version: '0.0.1', original: { memory: 512 }, to: { memory: 256 } },
    { ...old, kind: 'closed', why: 'undone' },
  ];
  const lines = pair.map((line) => `${JSON.stringify(line)}\n`).join('');
  appendFileSync(path, lines.repeat(5000));
  await apply(request('/guest/f1', 256));
  // Intent and done of f0, and of f1.
  t.is(readFileSync(path, 'utf8').trim().split('\n').length, 4);
  await undo();
  t.deepEqual(
    [...fakeOpenWhisk.actions.values()].map(({ limits }) => limits.memory),
    [512, 512],
  );
});

test('two processes never change actions at once, and a killed one blocks nothing', async (t) => {
  const { fakeOpenWhisk, path } = await rig(t, '2.0.0');
  const journal = await Journal.open(path);
  await t.throwsAsync(Journal.open(path), { code: 'GLN_ACTIONS_LOCKED' });
  journal.close();
  for (const name of names) fakeOpenWhisk.add(`guest/${name}`, { memory: 512 });
  fakeOpenWhisk.hangAtPut = { number: 1, carriedOut: false };
  const { child, ended } = start(t, fakeOpenWhisk.url, path);
  await until(() => fakeOpenWhisk.puts().length === 1);
  await t.throwsAsync(Journal.open(path), { code: 'GLN_ACTIONS_LOCKED' });
  child.kill('SIGKILL');
  await ended;
  (await Journal.open(path)).close();
  t.pass();
});
