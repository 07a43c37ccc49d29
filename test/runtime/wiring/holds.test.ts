import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Broker, buckets, services } from '../../../broker/index.js';
import { modeKey } from '../../../broker/messages/index.js';
import { changeMode } from '../../../broker/mode-switch.js';
import { callService, findServices, serve } from '../../../broker/services/index.js';
import { millis, systemTimers } from '../../../config/index.js';
import { holdsOf } from '../../../runtime/wiring/holds.js';
import { HOST, SyntheticGleaner } from '../../dashboard/synthetic.js';
import { HookRig } from '../../openwhisk-plugin/daemon/hook-rig.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const NONE = '/nowhere/kill-switch';
const WHO = { author: 'test' };

/** Reasons, by checks of all functions together and of each alone, which must be the same. */
async function reasonsOf(t: ExecutionContext, broker: Broker, functions: readonly string[]) {
  const findHolds = holdsOf({ broker, killSwitch: NONE });
  const together = await findHolds([...functions, '/g/one-more']);
  for (const fn of functions) {
    const alone = await findHolds([fn]);
    t.is(alone.get(fn), together.get(fn), fn);
  }
  return functions.map((fn) => together.get(fn) ?? null);
}

function synthetic(t: ExecutionContext, functions: number) {
  const bus = new MemoryBus(systemTimers);
  const gleaner = new SyntheticGleaner(bus.connect(), functions);
  gleaner.start();
  t.teardown(() => gleaner.stop());
  return { bus, gleaner, broker: bus.connect() };
}

test('stored modes, pauses and the kill switch hold', async (t) => {
  const broker = new MemoryBus().connect();
  t.teardown(() => broker.close());
  const functions = ['/g/a', '/g/paused', '/g/observed', '/g/enforced'];
  await changeMode(broker, '/g/paused', { paused: true }, WHO);
  await changeMode(broker, '/g/observed', { mode: 'observe' }, WHO);
  t.deepEqual(await reasonsOf(t, broker, functions), [null, 'paused', 'mode observe', null]);
  await changeMode(broker, null, { mode: 'recommend' }, WHO);
  await changeMode(broker, '/g/enforced', { mode: 'enforce' }, WHO);
  t.deepEqual(await reasonsOf(t, broker, functions), [
    'mode recommend',
    'paused',
    'mode observe',
    null,
  ]);
  await changeMode(broker, null, { kill: true }, WHO);
  const killed = 'the kill switch is set for all hosts';
  t.deepEqual(await reasonsOf(t, broker, functions), [killed, killed, killed, killed]);
});

test('a stored mode that cannot be read holds', async (t) => {
  const broker = new MemoryBus().connect();
  t.teardown(() => broker.close());
  const bucket = broker.keyValue(buckets.mode);
  await bucket.put(modeKey('/g/a'), new Uint8Array([1]));
  const [a, b] = await reasonsOf(t, broker, ['/g/a', '/g/b']);
  t.regex(a ?? '', /^function\..* in gleaner_mode cannot be read$/);
  t.is(b, null);
  await bucket.put('global', new Uint8Array([1]));
  const unread = 'global in gleaner_mode cannot be read';
  t.deepEqual(await reasonsOf(t, broker, ['/g/a', '/g/b']), [unread, unread]);
});

test('what is in force on a hook holds, stored or not', async (t) => {
  const rig = await new HookRig().start();
  t.teardown(() => rig.hook.stop());
  rig.container({ quota: 1000 }).call(20, 300);
  const functions = ['/guest/hello', '/guest/unknown'];
  const call = (endpoint: string, request: object) =>
    callService(rig.other, { service: services.hook, endpoint, request });
  const holds = () => reasonsOf(t, rig.other, functions);
  t.deepEqual(await holds(), [null, null]);
  await call('pause', { function: '/guest/hello' });
  t.deepEqual(await holds(), ['paused on host-a', null]);
  await call('resume', { function: '/guest/hello' });
  await call('mode', { function: '/guest/hello', mode: 'observe' });
  t.deepEqual(await holds(), ['mode observe on host-a', null]);
  // Of all functions: also of one that no hook knows, unless it has its own.
  await call('mode', { mode: 'recommend' });
  await call('mode', { function: '/guest/hello', mode: 'enforce' });
  t.deepEqual(await holds(), [null, 'mode recommend on host-a']);
  await changeMode(rig.other, '/guest/unknown', { mode: 'enforce' }, WHO);
  t.deepEqual(await holds(), [null, null]);
  await call('restore', { hold: true });
  const killed = 'the kill switch is set on host-a';
  t.deepEqual(await holds(), [killed, killed]);
});

test('a pause holds on a hook with more functions than a page', async (t) => {
  const { gleaner, broker } = synthetic(t, 900);
  const [first, last] = [gleaner.names[0]!, gleaner.names[899]!];
  gleaner.paused.add(last);
  t.deepEqual(await reasonsOf(t, broker, [first, last]), [null, `paused on ${HOST}`]);
  gleaner.inspected.length = 0;
  await holdsOf({ broker, killSwitch: NONE })([last]);
  t.deepEqual(gleaner.inspected, [1], 'before a write one small request');
});

test('nothing is allowed while a known hook is silent', async (t) => {
  const { bus, gleaner, broker } = synthetic(t, 2);
  const functions = gleaner.names;
  const findHolds = holdsOf({ broker, killSwitch: NONE });
  t.is((await findHolds(functions)).size, 0);
  const [hook] = await findServices(broker, services.hook, millis(100));
  let instances: Record<string, string> = { [hook!.id]: HOST, of_away: 'away' };
  const aggregator = serve(bus.connect(), {
    name: services.aggregator,
    version: '1.0.0',
    description: '',
    host: 'one',
    endpoints: {
      list: {
        description: '',
        handle: () => ({
          host: 'one',
          publishing: true,
          epoch: 1,
          paused: false,
          refusals: {},
          agents: [],
          invokers: [],
          instances: { [services.hook]: instances },
        }),
      },
    },
  });
  const reasons = async () => [...(await findHolds(functions)).values()];
  const silent = (host: string) => functions.map(() => `gleaner-hook on ${host} does not answer`);
  t.deepEqual(await reasons(), silent('away'));
  // It announced that it stops, or was not announced for long.
  instances = { [hook!.id]: HOST };
  t.deepEqual(await reasons(), []);
  // Without an aggregator, a hook that answered before is still known.
  aggregator.stop();
  t.deepEqual(await reasons(), []);
  gleaner.stop();
  t.deepEqual(await reasons(), silent(HOST));
});

test('nothing is allowed while a hook cannot be read', async (t) => {
  const { bus, gleaner, broker } = synthetic(t, 2);
  const answers = [{ host: { host: 'host-b' } }, new Error('busy')];
  const expected = [/^the hook on host-b has another version/, /^gleaner-hook on host-b does not/];
  for (const [i, answer] of answers.entries()) {
    const handle = () => {
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const hook = serve(bus.connect(), {
      name: services.hook,
      version: '9.0.0',
      description: '',
      host: 'host-b',
      endpoints: { inspect: { description: '', handle } },
    });
    for (const why of await reasonsOf(t, broker, gleaner.names)) t.regex(why ?? '', expected[i]!);
    hook.stop();
  }
});

test('nothing is allowed while NATS cannot be read', async (t) => {
  const broker = new MemoryBus().connect();
  await broker.close();
  const held = await holdsOf({ broker, killSwitch: NONE })(['/g/a', '/g/b']);
  t.is(held.size, 2);
});

test('this machine’s kill switch holds, and a process that stops checks no more', async (t) => {
  const killSwitch = join(temporaryFolder('holds'), 'kill-switch');
  const stopping = new AbortController();
  const { signal } = stopping;
  const findHolds = holdsOf({ broker: null, killSwitch, signal });
  t.is((await findHolds(['/g/a'])).size, 0);
  writeFileSync(killSwitch, '');
  t.deepEqual(
    await findHolds(['/g/a']),
    new Map([['/g/a', `the kill switch is set: ${killSwitch}`]]),
  );
  // A file where a folder should be: nothing is known about the switch.
  const unread = holdsOf({ broker: null, killSwitch: join(killSwitch, 'kill-switch') });
  t.regex((await unread(['/g/a'])).get('/g/a') ?? '', /or cannot be read \(.*\): /);
  stopping.abort();
  await t.throwsAsync(findHolds(['/g/a']), { any: true });
});
