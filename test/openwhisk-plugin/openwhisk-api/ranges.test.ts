import test from 'ava';
import { OpenWhiskRefusedError } from '../../../openwhisk-plugin/openwhisk-api/rest-errors.js';
import { versions } from './fake-openwhisk-rest.js';
import { request, restTo, rig } from './rig.js';

const FN = '/guest/thumbs';
const PATH = 'guest/thumbs';

// The prefix "requirement failed: " is what Scala's `require` puts before the text,
// in 2.0.0 too.
const refusals = {
  '1.0.0':
    'The request content was malformed: requirement failed: ' +
    'memory 1024 MB exceeds allowed threshold of 512 MB',
  '2.0.0': 'requirement failed: memory size 1024 MB exceeds allowed threshold of 512 MB',
  master: 'requirement failed: memory size 1024 MB exceeds allowed threshold of 512 MB',
} as const;

for (const version of versions) {
  test(`${version}: OpenWhisk's error for a value out of range is reported`, async (t) => {
    const { fakeOpenWhisk } = await rig(t, version);
    fakeOpenWhisk.add(PATH);
    const rest = restTo(fakeOpenWhisk.url);
    const error = await t.throwsAsync(rest.setLimits('thumbs', { memory: 1024 }), {
      instanceOf: OpenWhiskRefusedError,
    });
    t.is(error!.detail, refusals[version]);
    t.is(error!.code, 'GLN_OPENWHISK_REFUSED');
    t.is(fakeOpenWhisk.actions.get(PATH)!.version, '0.0.1');
  });

  test(`${version}: a value outside of the range is clipped to it`, async (t) => {
    const { fakeOpenWhisk, apply } = await rig(t, version);
    fakeOpenWhisk.add(PATH, { memory: 256 });
    t.like(await apply(request(FN, 4096)), [
      { result: 'changed', to: { memory: 512 }, planned: { clipped: ['memory'] } },
    ]);
    t.like(await apply(request(FN, 16)), [{ result: 'changed', to: { memory: 128 } }]);
  });

  test(`${version}: a range that the operator raised is used`, async (t) => {
    const { fakeOpenWhisk, apply } = await rig(t, version, {
      prepare: ({ system }) => Object.assign(system.memory, { min: 64, max: 4096 }),
    });
    fakeOpenWhisk.add(PATH, { memory: 4096 });
    t.like(await apply(request(FN, 2048)), [{ result: 'changed', to: { memory: 2048 } }]);
    t.like(await apply(request(FN, 32)), [{ to: { memory: 64 } }]);
  });

  test(`${version}: a value outside of a new range stays`, async (t) => {
    const { fakeOpenWhisk, apply } = await rig(t, version);
    fakeOpenWhisk.add(PATH, { memory: 1024 });
    t.like(await apply(request(FN, 256)), [
      { result: 'unchanged', planned: { left: { memory: 'could not be undone' } } },
    ]);
    t.is(fakeOpenWhisk.puts().length, 0);
  });

  test(`${version}: concurrency is written only within a known range`, async (t) => {
    const { fakeOpenWhisk, apply } = await rig(t, version, {
      prepare: ({ system }) => Object.assign(system.concurrency, { max: 200 }),
    });
    fakeOpenWhisk.add(PATH);
    const [outcome] = await apply({ function: FN, concurrency: 500 });
    if (version === '1.0.0')
      t.like(outcome, { planned: { left: { concurrency: 'no such limit here' } } });
    else t.like(outcome, { result: 'changed', to: { concurrency: 200 } });
  });

  test(`${version}: containers are capped if the platform can`, async (t) => {
    const { fakeOpenWhisk, apply, undo, open } = await rig(t, version);
    fakeOpenWhisk.add(PATH);
    const [outcome] = await apply({ function: FN, instances: 3 });
    if (version === '1.0.0') {
      t.like(outcome, {
        result: 'unchanged',
        planned: { left: { instances: 'no such limit here' } },
      });
      t.is(fakeOpenWhisk.puts().length, 0);
      return;
    }
    t.is(fakeOpenWhisk.actions.get(PATH)!.limits.instances, 3);
    const [undone] = await undo();
    // Ansible's limits.actions.invokes.concurrent; the API has no way to take the limit away.
    t.is(fakeOpenWhisk.actions.get(PATH)!.limits.instances, 30);
    t.regex(undone!.note, /whole concurrency/);
    t.is(open().size, 0);
  });
}

test("1.0.0 behind a gateway that hides the root gets OpenWhisk's default range", async (t) => {
  const { fakeOpenWhisk, apply } = await rig(t, '1.0.0', {
    prepare: (one) => {
      const { faults } = one;
      Object.assign(one.system.memory, { max: 4096 });
      // Namespace, limits, then the root.
      faults.push(
        { method: 'GET', status: 200, body: '["guest"]' },
        { method: 'GET', status: 200, body: '{}' },
      );
      faults.push({ method: 'GET', status: 404, body: '<html>nothing here</html>' });
    },
  });
  fakeOpenWhisk.add(PATH, { memory: 256 });
  t.like(await apply(request(FN, 1024)), [{ to: { memory: 512 } }]);
});

for (const version of ['2.0.0', 'master'] as const)
  test(`${version}: each namespace keeps to its own range`, async (t) => {
    const other = 'b0:k3y-0f-small';
    const { fakeOpenWhisk, apply } = await rig(t, version, {
      keys: ['23bc46b1-71f6-4ed5-8c54-816aa4f8c502:s3cr3t-0f-guest', other],
      prepare: ({ tenants }) =>
        tenants.push({
          namespace: 'small',
          key: other,
          limits: { minActionMemory: 192, maxActionMemory: 256, concurrentInvocations: 4 },
        }),
    });
    fakeOpenWhisk.add(PATH, { memory: 256 });
    fakeOpenWhisk.add('small/thumbs', { memory: 256 });
    const outcomes = await apply(request(FN, 128), request('/small/thumbs', 128), {
      function: '/small/thumbs',
      instances: 9,
    });
    t.like(outcomes, [{ to: { memory: 128 } }, { to: { memory: 192 } }, { to: { instances: 4 } }]);
    await t.throwsAsync(restTo(fakeOpenWhisk.url, other).setLimits('thumbs', { memory: 300 }), {
      message: /threshold of 256 MB/,
    });
  });

test('a namespace without a key is named and nothing is asked of it', async (t) => {
  const { fakeOpenWhisk, apply } = await rig(t, '2.0.0');
  const before = fakeOpenWhisk.seen.length;
  t.like(await apply(request('/other/thumbs', 128)), [
    { result: 'failed', note: 'there is no key of the namespace other' },
  ]);
  t.is(fakeOpenWhisk.seen.length, before);
});

test("the operator's bounds and the owner's both hold", async (t) => {
  const { fakeOpenWhisk, apply } = await rig(t, '2.0.0', {
    allowance: { mode: 'enforce', memoryMiB: { min: 160, max: 400 } },
  });
  fakeOpenWhisk.add(PATH, { memory: 256 }, { 'gleaner.bounds': { memoryMiB: { min: 200 } } });
  t.like(await apply(request(FN, 128)), [{ to: { memory: 200 } }]);
  t.like(await apply(request(FN, 512)), [{ to: { memory: 400 } }]);
});

test('an annotation holds back what the operator allows, and never allows more', async (t) => {
  for (const [operator, owner, result] of [
    ['enforce', undefined, 'changed'],
    ['enforce', 'off', 'unchanged'],
    ['enforce', 'recommend', 'unchanged'],
    ['recommend', 'enforce', 'unchanged'],
    // An unknown value: nothing is changed.
    ['enforce', 'enfroce', 'unchanged'],
  ] as const) {
    const { fakeOpenWhisk, apply } = await rig(t, '2.0.0', { allowance: { mode: operator } });
    fakeOpenWhisk.add(PATH, { memory: 256 }, owner === undefined ? {} : { 'gleaner.mode': owner });
    t.like(await apply(request(FN, 128)), [{ result }], `${operator}, ${owner}`);
    t.is(fakeOpenWhisk.puts().length, result === 'changed' ? 1 : 0);
  }
});

test('a sequence has no container of its own, and is left', async (t) => {
  const { fakeOpenWhisk, apply } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 256 }, { exec: 'sequence' });
  t.like(await apply(request(FN, 128)), [
    { result: 'unchanged', planned: { left: { memory: 'sequence' } } },
  ]);
});

test('all pages of a list are read', async (t) => {
  const { fakeOpenWhisk, writer } = await rig(t, '2.0.0');
  for (let i = 0; i < 401; i++) fakeOpenWhisk.add(`guest/f${i}`);
  const listed = await writer.list();
  t.is(new Set(listed.map((one) => one.function)).size, 401);
  // 200, 200 and 1.
  t.is(fakeOpenWhisk.seen.filter(({ path }) => path.endsWith('/actions')).length, 3);
});
