import test, { type ExecutionContext } from 'ava';
import { type Bytes, mebibytes, millis } from '../../../config/index.js';
import {
  type ActionEvent,
  Journal,
  RightSizing,
  type SizeEvidence,
} from '../../../openwhisk-plugin/openwhisk-api/index.js';
import { noPeakExcess } from '../../../rules/index.js';
import { adviceOf, HOUR, RULES } from './advice.js';
import { nothingHeld, type RigOptions, rig } from './rig.js';

/**
 * A fake REST API with actions of 512 MB, and right-sizing on it; `again` makes a new one, as after
 * a crash.
 */
async function sizing(
  t: ExecutionContext,
  names: readonly string[],
  options: RigOptions & { readonly onPause?: () => void } = {},
) {
  const parts = await rig(t, '2.0.0', options);
  for (const name of names) parts.fakeOpenWhisk.add(`guest/${name}`, { memory: 512 });
  const told: ActionEvent[] = [];
  const again = (): RightSizing =>
    new RightSizing({
      writer: parts.writer,
      rules: RULES,
      clock: parts.time,
      withJournal: async (act) => {
        const journal = await Journal.open(parts.path);
        try {
          return await act(journal);
        } finally {
          journal.close();
        }
      },
      pause: async (span) => {
        parts.time.advance(span);
        options.onPause?.();
      },
      tell: (event) => told.push(event),
    });
  const memoryOf = (name: string): number =>
    parts.fakeOpenWhisk.actions.get(`guest/${name}`)!.limits.memory;
  return { ...parts, told, again, memoryOf };
}

const evidence = (...advice: SizeEvidence['advice'][number][]): SizeEvidence => ({
  advice,
  hosts: [],
  peaks: noPeakExcess(),
});

test('recommended, canaried, kept, and the rest follows', async (t) => {
  const names = ['f0', 'f1', 'f2', 'f3'];
  const { again, memoryOf, told, time, fakeOpenWhisk } = await sizing(t, names);
  const big = (name: string) => adviceOf(`/guest/${name}`);
  const small = (name: string) => adviceOf(`/guest/${name}`, { limitMiB: 192, sizeMiB: 192 });
  const right = again();
  const recommended = await right.recommend(evidence(...names.map(big)), []);
  t.deepEqual(
    recommended.map((one) => [one.function, one.verdict, one.heldBy]),
    names.map((name) => [`/guest/${name}`, 'ready', '']),
  );
  t.is(fakeOpenWhisk.puts().length, 0);

  await right.turn(evidence(...names.map(big)), nothingHeld);
  t.deepEqual(names.map(memoryOf), [192, 192, 512, 512]);
  // Nothing new is done until the watch is over ...
  await right.turn(evidence(small('f0'), small('f1'), big('f2'), big('f3')), nothingHeld);
  t.deepEqual(names.map(memoryOf), [192, 192, 512, 512]);
  time.advance(millis(RULES.watchTime));
  // ... also by one that knows the journal alone.
  await again().turn(evidence(small('f0'), small('f1'), big('f2'), big('f3')), nothingHeld);
  t.deepEqual(names.map(memoryOf), [192, 192, 192, 192]);
  t.deepEqual(
    told.map(({ function: fn, reason }) => `${fn} ${reason.slice(0, 5)}`),
    [
      '/guest/f0 right',
      '/guest/f1 right',
      '/guest/f0 kept:',
      '/guest/f1 kept:',
      '/guest/f2 right',
      '/guest/f3 right',
    ],
  );
});

test('undone at the first OOM kill, not tried again, and who is still watched stays', async (t) => {
  const { again, memoryOf, told, fakeOpenWhisk, time } = await sizing(t, ['f0', 'f1']);
  const right = again();
  await right.turn(evidence(adviceOf('/guest/f0'), adviceOf('/guest/f1')), nothingHeld);
  // A kill of a container of before, at the user's own size, is none of ours.
  t.is(await right.killed('/guest/f0', mebibytes(512)), null);
  t.is(await right.killed('/guest/other', mebibytes(192)), null);
  t.like(await right.killed('/guest/f0', mebibytes(192)), {
    result: 'undone',
    from: { memory: 192 },
    to: { memory: 512 },
  });
  t.deepEqual(['f0', 'f1'].map(memoryOf), [512, 192]);
  t.like(told.at(-1), {
    kind: 'action',
    function: '/guest/f0',
    before: mebibytes(192),
    after: mebibytes(512),
  });
  // The same kill told once more (the kernel's counter and the engine's event) undoes nothing
  // twice.
  t.is(await right.killed('/guest/f0', mebibytes(192)), null);
  const puts = fakeOpenWhisk.puts().length;
  time.advance(millis(HOUR));
  await again().turn(evidence(adviceOf('/guest/f0')), nothingHeld);
  t.is(fakeOpenWhisk.puts().length, puts);
});

test('an unreported OOM kill is found later, and a failed undo is retried', async (t) => {
  const { again, memoryOf, fakeOpenWhisk } = await sizing(t, ['f0']);
  await again().turn(evidence(adviceOf('/guest/f0')), nothingHeld);
  t.is(memoryOf('f0'), 192);
  const killed = evidence(
    adviceOf('/guest/f0', { limitMiB: 192, killedAt: mebibytes(192) as Bytes, kills: 1 }),
  );
  for (let i = 0; i < 4; i++) fakeOpenWhisk.faults.push({ method: 'PUT', status: 500 });
  t.like(await again().turn(killed, nothingHeld), [{ result: 'failed' }]);
  t.is(memoryOf('f0'), 192);
  t.like(await again().turn(killed, nothingHeld), [{ result: 'undone' }]);
  t.is(memoryOf('f0'), 512);
});

test('mode, annotation, bounds and a pause prevent a change and are named', async (t) => {
  const { again, memoryOf, fakeOpenWhisk } = await sizing(t, []);
  fakeOpenWhisk.add('guest/off', { memory: 512 }, { 'gleaner.mode': 'recommend' });
  fakeOpenWhisk.add(
    'guest/bounded',
    { memory: 512 },
    { 'gleaner.bounds': { memoryMiB: { min: 512 } } },
  );
  fakeOpenWhisk.add(
    'guest/partly',
    { memory: 512 },
    { 'gleaner.bounds': { memoryMiB: { min: 384 } } },
  );
  fakeOpenWhisk.add('guest/paused', { memory: 512 });
  const names = ['off', 'bounded', 'partly', 'paused', 'gone'];
  const given = evidence(...names.map((name) => adviceOf(`/guest/${name}`)));
  const held = new Map(
    (await again().recommend(given, [])).map((one) => [one.function, one.heldBy]),
  );
  t.deepEqual(
    names.map((name) => held.get(`/guest/${name}`)),
    [
      'mode',
      'at least 512 MB (gleaner.bounds)',
      '',
      '',
      'no such action, or no key of its namespace',
    ],
  );
  const outcomes = await again().turn(given, async () => new Map([['/guest/paused', 'paused']]));
  t.like(outcomes[0], { function: '/guest/paused', result: 'held', note: 'paused' });
  t.deepEqual(['off', 'bounded', 'partly', 'paused'].map(memoryOf), [512, 512, 384, 512]);
});

test('a recommendation is the size to write, and names whose bounds clipped it', async (t) => {
  // Its calls need 192 MB (advice.ts).
  const allowance = { mode: 'enforce' as const, memoryMiB: { min: 256, max: 512 } };
  const { again, memoryOf, fakeOpenWhisk } = await sizing(t, [], { allowance });
  fakeOpenWhisk.add('guest/operators', { memory: 512 });
  fakeOpenWhisk.add(
    'guest/owners',
    { memory: 512 },
    { 'gleaner.bounds': { memoryMiB: { min: 384, max: 512 } } },
  );
  const given = evidence(adviceOf('/guest/operators'), adviceOf('/guest/owners'));
  const shown = new Map((await again().recommend(given, [])).map((one) => [one.function, one]));
  const mib = (n: number) => mebibytes(n);
  t.like(shown.get('/guest/operators'), {
    to: mib(256),
    verdict: 'ready',
    heldBy: '',
    rangeLimit: 'at least 256 MB (functions.overrides bounds)',
  });
  t.like(shown.get('/guest/owners'), {
    to: mib(384),
    heldBy: '',
    rangeLimit: 'at least 384 MB (gleaner.bounds)',
  });
  await again().turn(given, nothingHeld);
  t.deepEqual(['operators', 'owners'].map(memoryOf), [256, 384]);
});

test('a recommendation keeps to the range of the namespace', async (t) => {
  const { again, fakeOpenWhisk } = await sizing(t, [], {
    prepare: ({ tenants }) => {
      tenants[0]!.limits = { minActionMemory: 256, maxActionMemory: 512 };
    },
  });
  fakeOpenWhisk.add('guest/f', { memory: 512 });
  const [one] = await again().recommend(evidence(adviceOf('/guest/f')), []);
  t.like(one, {
    to: mebibytes(256),
    heldBy: '',
    rangeLimit: "at least 256 MB (the namespace's range)",
  });
});

test('nothing is made smaller while containers of an older limit are what is seen', async (t) => {
  const { again, fakeOpenWhisk, memoryOf } = await sizing(t, ['f0']);
  fakeOpenWhisk.userSets('guest/f0', { memory: 256 });
  await again().turn(evidence(adviceOf('/guest/f0')), nothingHeld);
  t.is(memoryOf('f0'), 256);
});

test('a hold that begins during a wave stops its next write, and ends with the hold', async (t) => {
  const names = ['f0', 'f1'];
  let why: string | null = null;
  const { again, memoryOf } = await sizing(t, names, {
    // Between the two writes of a wave.
    onPause: () => {
      why = 'the kill switch is set';
    },
  });
  const given = evidence(...names.map((name) => adviceOf(`/guest/${name}`)));
  const findHolds = async (functions: readonly string[]) =>
    new Map(why === null ? [] : functions.map((fn) => [fn, why as string]));
  const outcomes = await again().turn(given, findHolds);
  t.deepEqual(
    outcomes.map((one) => [one.function, one.result]),
    [
      ['/guest/f0', 'changed'],
      ['/guest/f1', 'held'],
    ],
  );
  t.deepEqual(names.map(memoryOf), [192, 512]);
  why = null;
  await again().turn(evidence(adviceOf('/guest/f1')), nothingHeld);
  t.deepEqual(names.map(memoryOf), [192, 192]);
});

test('held functions leave their places in a wave to others', async (t) => {
  const names = ['f0', 'f1', 'f2', 'f3'];
  const { again, memoryOf } = await sizing(t, names);
  t.is(RULES.canaries, 2);
  const held = new Map(['/guest/f0', '/guest/f1'].map((fn) => [fn, 'paused']));
  await again().turn(evidence(...names.map((name) => adviceOf(`/guest/${name}`))), async (some) =>
    some.length > 1 ? held : new Map(),
  );
  t.deepEqual(names.map(memoryOf), [512, 512, 192, 192]);
});

test('a process that stops ends its wave in the wait before a write', async (t) => {
  const names = ['f0', 'f1'];
  const { again, memoryOf } = await sizing(t, names, {
    onPause: () => {
      throw new Error('stopping');
    },
  });
  const given = evidence(...names.map((name) => adviceOf(`/guest/${name}`)));
  await t.throwsAsync(again().turn(given, nothingHeld), { message: 'stopping' });
  t.deepEqual(names.map(memoryOf), [192, 512]);
});

test('tuned limits are held, too, those that roll back included', async (t) => {
  const { again, fakeOpenWhisk } = await sizing(t, [], {
    prepare: ({ system }) => Object.assign(system.concurrency, { max: 500 }),
  });
  for (const name of ['f0', 'f1']) fakeOpenWhisk.add(`guest/${name}`, { concurrency: 20 });
  const requests = ['f0', 'f1'].map((name) => ({
    function: `/guest/${name}`,
    concurrency: 10,
    urgent: true,
  }));
  let asked = 0;
  // Paused between the check of both and the write of the second.
  const outcomes = await again().tune(
    requests,
    async ([fn]) => new Map(++asked === 3 ? [[fn!, 'paused']] : []),
  );
  t.deepEqual(
    outcomes.map(({ result }) => result),
    ['changed', 'held'],
  );
  t.is(fakeOpenWhisk.puts().length, 1);
});
