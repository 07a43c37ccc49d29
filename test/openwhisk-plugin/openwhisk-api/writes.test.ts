import { readFileSync, statSync } from 'node:fs';
import test from 'ava';
import { KEY, versions } from './fake-openwhisk-rest.js';
import { nothingHeld, request, rig } from './rig.js';

const PATH = 'guest/pkg/thumbs';
const FN = '/guest/pkg/thumbs';

for (const version of versions) {
  test(`${version}: only memory is sent, and everything else stays`, async (t) => {
    const { fakeOpenWhisk, apply } = await rig(t, version);
    const before = fakeOpenWhisk.add(PATH, { memory: 256, timeout: 1000 }, { note: 'kept' });
    const [outcome] = await apply(request(FN, 192));
    t.like(outcome, { result: 'changed', from: { memory: 256 }, to: { memory: 192 }, note: '' });
    const puts = fakeOpenWhisk.puts();
    t.is(puts.length, 1);
    t.deepEqual(JSON.parse(puts[0]!.body), { limits: { memory: 192 } });
    // upPatch: 0.0.1 becomes 0.0.2.
    t.deepEqual(fakeOpenWhisk.actions.get(PATH), {
      ...before,
      version: '0.0.2',
      limits: { ...before.limits, memory: 192 },
    });
  });

  test(`${version}: an unchanged value is not sent: a PUT makes a new version`, async (t) => {
    const { fakeOpenWhisk, apply } = await rig(t, version);
    fakeOpenWhisk.add(PATH, { memory: 256 });
    await apply(request(FN, 192));
    const again = await apply(request(FN, 192));
    t.like(again, [
      { result: 'unchanged', planned: { left: { memory: 'has that value already' } } },
    ]);
    t.is(fakeOpenWhisk.puts().length, 1);
  });

  test(`${version}: a change is undone, once`, async (t) => {
    const { fakeOpenWhisk, apply, undo, open } = await rig(t, version);
    fakeOpenWhisk.add(PATH, { memory: 512 });
    await apply(request(FN, 256));
    t.like(await undo(), [{ result: 'undone', from: { memory: 256 }, to: { memory: 512 } }]);
    t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 512);
    t.is(open().size, 0);
    t.deepEqual(await undo(), []);
    t.is(fakeOpenWhisk.puts().length, 2);
  });
}

test('memory is rounded up to whole MB', async (t) => {
  const { fakeOpenWhisk, apply } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH);
  await apply({ function: FN, memory: (200 * 1024 * 1024 + 1) as never });
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 201);
});

test('several changes of one action are undone to its user’s value, not to ours', async (t) => {
  const { fakeOpenWhisk, apply, undo } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  await apply(request(FN, 256));
  await apply(request(FN, 128));
  await apply(request(FN, 192));
  await undo();
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 512);
});

test('two changes of one action in one run are undone to its user’s value', async (t) => {
  const { fakeOpenWhisk, apply, undo } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  await apply(request(FN, 256), request(FN, 192));
  await undo();
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 512);
});

test('what a user sets between two of our changes is what they get back', async (t) => {
  const { fakeOpenWhisk, apply, undo } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  await apply(request(FN, 256));
  fakeOpenWhisk.userSets(PATH, { memory: 384 });
  await apply(request(FN, 128));
  await undo();
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 384);
});

test('what a user sets after us stands', async (t) => {
  const { fakeOpenWhisk, apply, undo, open } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  await apply(request(FN, 256));
  fakeOpenWhisk.userSets(PATH, { memory: 384 });
  const [outcome] = await undo();
  t.is(outcome!.result, 'unchanged');
  t.regex(outcome!.note, /memory: changed by another client/);
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 384);
  t.is(open().size, 0);
});

test('an action created again with our value by chance is not ours', async (t) => {
  const { fakeOpenWhisk, apply, undo } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  await apply(request(FN, 256));
  // 0.0.1 again, older than the 0.0.2 of our change.
  fakeOpenWhisk.add(PATH, { memory: 256 });
  await undo();
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 256);
  t.is(fakeOpenWhisk.puts().length, 1);
});

test('an action that is gone has nothing to undo', async (t) => {
  const { fakeOpenWhisk, apply, undo, open } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  await apply(request(FN, 256));
  fakeOpenWhisk.actions.delete(PATH);
  t.like(await undo(), [{ result: 'unchanged', note: 'the action is gone' }]);
  t.is(open().size, 0);
});

test('a dry run reads and writes nothing, neither to OpenWhisk nor to the journal', async (t) => {
  const { fakeOpenWhisk, writer, apply, open, path } = await rig(t, 'master');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  t.like(await writer.apply([request(FN, 256)], [], null, nothingHeld), [
    { result: 'would change', to: { memory: 256 } },
  ]);
  t.throws(() => statSync(path), { code: 'ENOENT' });
  await apply(request(FN, 256));
  t.like(await writer.undo(open(), null), [{ result: 'would undo', to: { memory: 512 } }]);
  t.is(fakeOpenWhisk.puts().length, 1);
});

test('changes are limited per minute; undoing does not wait', async (t) => {
  const { fakeOpenWhisk, apply, undo, waits } = await rig(t, '2.0.0');
  for (const name of ['a', 'b', 'c']) fakeOpenWhisk.add(`guest/${name}`, { memory: 512 });
  await apply(request('/guest/a', 256), request('/guest/b', 256), request('/guest/c', 256));
  // 6 a minute: 10 s apart.
  t.deepEqual(waits, [10_000, 10_000]);
  await undo();
  t.is(waits.length, 2);
});

test('what takes a harmful limit away does not wait for its turn', async (t) => {
  const { fakeOpenWhisk, apply, waits } = await rig(t, '2.0.0', {
    prepare: ({ system }) => Object.assign(system.concurrency, { max: 500 }),
  });
  fakeOpenWhisk.add(PATH, { concurrency: 20 });
  await apply({ function: FN, concurrency: 40, why: 'concurrency' });
  await apply({ function: FN, concurrency: 20, why: 'concurrency', urgent: true });
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.concurrency, 20);
  t.deepEqual(waits, []);
});

test('after a change an action grows at once and shrinks only after the hold', async (t) => {
  const { fakeOpenWhisk, apply, time } = await rig(t, '2.0.0', { holdMs: 600_000 });
  fakeOpenWhisk.add(PATH, { memory: 512 });
  await apply(request(FN, 256));
  t.like(await apply(request(FN, 192)), [
    { result: 'unchanged', planned: { left: { memory: 'changed recently' } } },
  ]);
  t.like(await apply(request(FN, 320)), [{ result: 'changed' }]);
  time.advance(600_001 as never);
  t.like(await apply(request(FN, 192)), [{ result: 'changed' }]);
});

test('neither key nor parameters nor code are in the journal or in what is told', async (t) => {
  const { fakeOpenWhisk, apply, undo, path } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  fakeOpenWhisk.add('guest/old', { memory: 512 }).exec.kind = 'nodejs:6';
  const told = [
    await apply(request(FN, 256), request('/guest/old', 256), request('/guest/none', 256)),
    await undo(),
    readFileSync(path, 'utf8'),
  ];
  const text = JSON.stringify(told);
  t.true(text.includes('pkg/thumbs') && text.includes('no longer supported'));
  for (const secret of [
    KEY,
    KEY.split(':')[1]!,
    Buffer.from(KEY).toString('base64'),
    'p4r4m',
    'function main',
  ])
    t.false(text.includes(secret), secret);
  t.is(statSync(path).mode & 0o777, 0o600);
});

test('a held change is not written, and why is told', async (t) => {
  const { fakeOpenWhisk, apply, open } = await rig(t, '2.0.0', {
    findHolds: async ([fn]) => new Map([[fn!, 'paused on host-a']]),
  });
  fakeOpenWhisk.add(PATH, { memory: 512 });
  t.like(await apply(request(FN, 256)), [
    { result: 'held', from: {}, to: {}, note: 'paused on host-a' },
  ]);
  t.is(fakeOpenWhisk.puts().length, 0);
  t.is(open().size, 0);
});

test('a change that is refused for the moment is not sent again under a hold', async (t) => {
  let held = false;
  const { fakeOpenWhisk, apply, open, waits } = await rig(t, '2.0.0', {
    findHolds: async ([fn]) => new Map(held ? [[fn!, 'the kill switch is set']] : []),
    // Set while OpenWhisk is waited for.
    whileWaiting: () => {
      held = true;
    },
  });
  fakeOpenWhisk.add(PATH, { memory: 512 });
  fakeOpenWhisk.faults.push({ method: 'PUT', status: 503 });
  t.like(await apply(request(FN, 256)), [{ result: 'failed' }]);
  t.deepEqual(waits, [1000]);
  t.is(fakeOpenWhisk.puts().length, 1);
  // 503 may have been carried out: the journal keeps it for undo.
  t.is(open().size, 1);
});

test('what an owner changes during the check is planned again', async (t) => {
  let checks = 0;
  const { fakeOpenWhisk, apply, undo } = await rig(t, '2.0.0', {
    findHolds: async () => {
      if (++checks === 1) fakeOpenWhisk.userSets(PATH, { memory: 384 });
      return new Map();
    },
  });
  fakeOpenWhisk.add(PATH, { memory: 512 });
  t.like(await apply(request(FN, 256)), [
    { result: 'changed', from: { memory: 384 }, to: { memory: 256 } },
  ]);
  t.is(checks, 2);
  await undo();
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 384);
});

test('an aborted check ends the run before the write', async (t) => {
  const { fakeOpenWhisk, apply } = await rig(t, '2.0.0', {
    findHolds: () => Promise.reject(new Error('stopping')),
  });
  fakeOpenWhisk.add(PATH, { memory: 512 });
  await t.throwsAsync(apply(request(FN, 256)), { message: 'stopping' });
  t.is(fakeOpenWhisk.puts().length, 0);
});
