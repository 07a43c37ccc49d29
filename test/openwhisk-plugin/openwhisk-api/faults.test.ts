import test from 'ava';
import {
  OpenWhiskAuthError,
  OpenWhiskResponseError,
  OpenWhiskUnavailableError,
} from '../../../openwhisk-plugin/openwhisk-api/rest-errors.js';
import { KEY, versions } from './fake-openwhisk-rest.js';
import { request, restTo, rig } from './rig.js';

const FN = '/guest/thumbs';
const PATH = 'guest/thumbs';
const detail = (error: string): string => JSON.stringify({ error, code: 'tid0123456789abcdef' });

for (const version of versions) {
  test(`${version}: 409: a concurrent change of another client wins`, async (t) => {
    const { fakeOpenWhisk, apply, undo, open } = await rig(t, version);
    fakeOpenWhisk.add(PATH, { memory: 512 });
    fakeOpenWhisk.between = () => {
      fakeOpenWhisk.between = null;
      fakeOpenWhisk.userSets(PATH, { memory: 384 });
    };
    const [outcome] = await apply(request(FN, 256));
    t.is(outcome!.result, 'failed');
    t.regex(outcome!.note, /the action was changed at the same time/);
    t.is(fakeOpenWhisk.puts().length, 1);
    t.is(open().size, 0);
    t.deepEqual(await undo(), []);
    t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 384);
  });

  test(`${version}: 409 while undoing: looked at again, and undone`, async (t) => {
    const { fakeOpenWhisk, apply, undo } = await rig(t, version);
    fakeOpenWhisk.add(PATH, { memory: 512 });
    await apply(request(FN, 256));
    fakeOpenWhisk.between = () => {
      fakeOpenWhisk.between = null;
      fakeOpenWhisk.userSets(PATH, { timeout: 1000 });
    };
    t.like(await undo(), [{ result: 'undone' }]);
    t.like(fakeOpenWhisk.actions.get(PATH)!.limits, { memory: 512, timeout: 1000 });
  });

  test(`${version}: 429 is waited for, longer each time`, async (t) => {
    const { fakeOpenWhisk, apply, waits } = await rig(t, version);
    fakeOpenWhisk.add(PATH, { memory: 512 });
    const body = detail('Too many requests in the last minute (count: 61, allowed: 60).');
    fakeOpenWhisk.faults.push(
      { method: 'PUT', status: 429, body },
      { method: 'PUT', status: 429, body },
    );
    t.like(await apply(request(FN, 256)), [{ result: 'changed' }]);
    t.deepEqual(waits, [1000, 2000]);
    t.is(fakeOpenWhisk.actions.get(PATH)!.version, '0.0.2');
  });

  test(`${version}: 429 forever: no change, nothing to undo`, async (t) => {
    const { fakeOpenWhisk, apply, open } = await rig(t, version);
    fakeOpenWhisk.add(PATH, { memory: 512 });
    for (let i = 0; i < 9; i++)
      fakeOpenWhisk.faults.push({ method: 'PUT', status: 429, body: detail('Too many requests') });
    const [outcome] = await apply(request(FN, 256));
    t.regex(outcome!.note, /HTTP 429: Too many requests/);
    // Four attempts.
    t.is(fakeOpenWhisk.puts().length, 4);
    t.is(open().size, 0);
  });
}

for (const end of ['reset', 'hang', 500, 503] as const) {
  // Short where it is waited for, else long: a busy machine must not look like a hang.
  const timeout = end === 'hang' ? 2000 : 10_000;
  const how =
    typeof end === 'number'
      ? { status: end, body: detail('There was an internal server error.') }
      : { end };

  test(`${end} after the change was made: it is read, not made twice`, async (t) => {
    const { fakeOpenWhisk, apply, undo } = await rig(t, '2.0.0', { timeout });
    fakeOpenWhisk.add(PATH, { memory: 512 });
    fakeOpenWhisk.faults.push({ method: 'PUT', ...how, carriedOut: true });
    t.like(await apply(request(FN, 256)), [{ result: 'changed' }]);
    t.is(fakeOpenWhisk.puts().length, 1);
    t.is(fakeOpenWhisk.actions.get(PATH)!.version, '0.0.2');
    await undo();
    t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 512);
  });

  test(`${end} before the change was made: asked again`, async (t) => {
    const { fakeOpenWhisk, apply } = await rig(t, '2.0.0', { timeout });
    fakeOpenWhisk.add(PATH, { memory: 512 });
    fakeOpenWhisk.faults.push({ method: 'PUT', ...how });
    t.like(await apply(request(FN, 256)), [{ result: 'changed' }]);
    t.is(fakeOpenWhisk.puts().length, 2);
    t.is(fakeOpenWhisk.actions.get(PATH)!.version, '0.0.2');
  });

  test(`${end} forever: the last attempt was carried out and is undone`, async (t) => {
    const { fakeOpenWhisk, apply, undo, open } = await rig(t, '2.0.0', { timeout });
    fakeOpenWhisk.add(PATH, { memory: 512 });
    for (let i = 0; i < 3; i++) fakeOpenWhisk.faults.push({ method: 'PUT', ...how });
    fakeOpenWhisk.faults.push({ method: 'PUT', ...how, carriedOut: true });
    t.like(await apply(request(FN, 256)), [{ result: 'failed' }]);
    t.is(open().size, 1);
    t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 256);
    t.like(await undo(), [{ result: 'undone' }]);
    t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 512);
  });
}

test('an unknown result, and reading fails: the change counts as possibly made', async (t) => {
  const { fakeOpenWhisk, apply, undo, open } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  fakeOpenWhisk.faults.push({ method: 'PUT', end: 'reset', carriedOut: true });
  // Both reads before the change work, the four after it do not.
  const action = JSON.stringify(fakeOpenWhisk.actions.get(PATH));
  for (let i = 0; i < 2; i++)
    fakeOpenWhisk.faults.push({ method: 'GET', status: 200, body: action });
  for (let i = 0; i < 4; i++)
    fakeOpenWhisk.faults.push({ method: 'GET', status: 503, body: detail('overloaded') });
  const [outcome] = await apply(request(FN, 256));
  t.is(outcome!.result, 'failed');
  t.regex(outcome!.note, /not known/);
  t.is(fakeOpenWhisk.puts().length, 1);
  t.is(open().size, 1);
  await undo();
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 512);
});

test('an unknown result, then 429: a late refusal does not disprove the change', async (t) => {
  const { fakeOpenWhisk, apply, undo, open } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  const stale = JSON.stringify(fakeOpenWhisk.actions.get(PATH));
  fakeOpenWhisk.faults.push({ method: 'PUT', end: 'reset', carriedOut: true });
  for (let i = 0; i < 3; i++)
    fakeOpenWhisk.faults.push({ method: 'PUT', status: 429, body: detail('Too many requests') });
  // Another controller's cache still has the old version, each time.
  for (let i = 0; i < 5; i++)
    fakeOpenWhisk.faults.push({ method: 'GET', status: 200, body: stale });
  t.like(await apply(request(FN, 256)), [{ result: 'failed' }]);
  t.is(open().size, 1);
  await undo();
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 512);
});

test('a platform that answers a PUT with OK only (no response payload) is read', async (t) => {
  const { fakeOpenWhisk, apply, undo } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  for (let i = 0; i < 2; i++)
    fakeOpenWhisk.faults.push({ method: 'PUT', status: 200, body: 'OK', carriedOut: true });
  t.like(await apply(request(FN, 256)), [{ result: 'changed', note: '' }]);
  t.like(await undo(), [{ result: 'undone' }]);
  t.is(fakeOpenWhisk.puts().length, 2);
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 512);
});

test('200 from a proxy that never asked OpenWhisk is not taken for a change', async (t) => {
  const { fakeOpenWhisk, apply } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512 });
  for (let i = 0; i < 4; i++)
    fakeOpenWhisk.faults.push({ method: 'PUT', status: 200, body: '<html>sign in</html>' });
  t.like(await apply(request(FN, 256)), [{ result: 'failed' }]);
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 512);
});

test('an unknown result, then 409: the change stays in the journal', async (t) => {
  const { fakeOpenWhisk, apply, undo, open } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH, { memory: 512, concurrency: 1 });
  const stale = JSON.stringify(fakeOpenWhisk.actions.get(PATH));
  fakeOpenWhisk.faults.push({ method: 'PUT', end: 'reset', carriedOut: true });
  fakeOpenWhisk.faults.push({
    method: 'PUT',
    status: 409,
    body: detail('Concurrent modification to resource detected.'),
  });
  for (let i = 0; i < 3; i++)
    fakeOpenWhisk.faults.push({ method: 'GET', status: 200, body: stale });
  t.like(await apply(request(FN, 256)), [{ result: 'failed' }]);
  t.is(open().size, 1);
  await undo();
  t.is(fakeOpenWhisk.actions.get(PATH)!.limits.memory, 512);
});

test('slow: each request ends at its deadline', async (t) => {
  const { fakeOpenWhisk } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(PATH);
  fakeOpenWhisk.faults.push({ method: 'GET', end: 'hang' });
  const start = performance.now();
  await t.throwsAsync(restTo(fakeOpenWhisk.url, KEY, 200).action('thumbs'), {
    instanceOf: OpenWhiskUnavailableError,
  });
  const took = performance.now() - start;
  t.true(took >= 190 && took < 30_000, `${took} ms`);
});

test('a wrong key is told without the key, before anything is changed', async (t) => {
  const wrong = 'someone:wr0ng-s3cr3t';
  const error = await t.throwsAsync(rig(t, '2.0.0', { keys: [wrong] }), {
    instanceOf: OpenWhiskAuthError,
  });
  t.regex(error!.message, /HTTP 401/);
  t.false(`${error!.stack}${error!.message}${error!.hint}`.includes('wr0ng'));
});

test('a key revoked midway: its namespace gets no more requests, others do', async (t) => {
  const other = 'b0:k3y-0f-other';
  const { fakeOpenWhisk, apply } = await rig(t, '2.0.0', {
    keys: [KEY, other],
    prepare: ({ tenants }) => tenants.push({ namespace: 'other', key: other }),
  });
  for (const path of [PATH, 'guest/b', 'other/c']) fakeOpenWhisk.add(path, { memory: 512 });
  fakeOpenWhisk.faults.push({
    method: 'PUT',
    status: 401,
    body: detail('The supplied authentication is invalid'),
  });
  const before = fakeOpenWhisk.seen.length;
  const outcomes = await apply(
    request(FN, 256),
    request('/guest/b', 256),
    request('/other/c', 256),
  );
  t.deepEqual(
    outcomes.map(({ result }) => result),
    ['failed', 'failed', 'changed'],
  );
  // Two GET and a PUT of the first, none of the second, the same of the third.
  t.is(fakeOpenWhisk.seen.length - before, 6);
});

test('a page in front of the API is not taken for its answer', async (t) => {
  const { fakeOpenWhisk } = await rig(t, '2.0.0');
  const rest = restTo(fakeOpenWhisk.url);
  fakeOpenWhisk.faults.push({ method: 'GET', status: 200, body: '<html>sign in</html>' });
  await t.throwsAsync(rest.action('thumbs'), { instanceOf: OpenWhiskResponseError });
  fakeOpenWhisk.faults.push({ method: 'GET', status: 502, body: '<html>Bad Gateway</html>' });
  await t.throwsAsync(rest.action('thumbs'), {
    instanceOf: OpenWhiskUnavailableError,
    message: /HTTP 502/,
  });
  fakeOpenWhisk.faults.push({ method: 'GET', status: 200, body: 'null' });
  await t.throwsAsync(rest.action('thumbs'));
});

test('no server listens: the error says so', async (t) => {
  const { fakeOpenWhisk } = await rig(t, '2.0.0');
  const { url } = fakeOpenWhisk;
  fakeOpenWhisk.stop();
  await t.throwsAsync(restTo(url).action('thumbs'), {
    instanceOf: OpenWhiskUnavailableError,
    message: `OpenWhisk could not be reached at ${url}: connection refused`,
  });
});
