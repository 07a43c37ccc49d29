import test from 'ava';
import { NoJetStreamError, ServiceError, StoreFullError } from '../../broker/errors.js';
import {
  type Broker,
  buckets,
  type ModeOutcome,
  modeErrors,
  services,
  storeLater,
  switchMode,
} from '../../broker/index.js';
import {
  decodeMode,
  encodeMessage,
  MODE_GLOBAL,
  type ModeValue,
  modeKey,
} from '../../broker/messages/index.js';
import { changeMode, storedMode } from '../../broker/mode-switch.js';
import { serve } from '../../broker/services/index.js';
import { type GleanerError, millis, systemClock } from '../../config/index.js';
import { act } from '../../dashboard/server/actions.js';
import { HookRig } from '../openwhisk-plugin/daemon/hook-rig.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';

const full = new StoreFullError(
  'put in bucket gleaner_mode',
  'maximum messages per subject exceeded',
);
const who = { author: 'test' };
const FN = '/guest/hello';

const textsOf = (outcome: ModeOutcome) =>
  modeErrors(outcome).map(({ code, message }) => [code, message]);

async function hookWhoseStoreIsFull() {
  const rig = await new HookRig().start();
  rig.bus.refusal = (_, operation) => (operation === 'write' ? full : null);
  const host = () => rig.hook.figures().host;
  return { rig, host };
}

test('a mode, pause or kill switch that cannot be stored is applied on every host', async (t) => {
  const { rig, host } = await hookWhoseStoreIsFull();
  t.teardown(() => rig.hook.stop());
  const change = (fn: string | null, what: Parameters<typeof switchMode>[2]) =>
    switchMode(rig.other, fn, what, who, millis(50));
  const outcome = await change(null, { mode: 'observe' });
  t.deepEqual([outcome.hosts, outcome.failed.size, outcome.notStored], [['host-a'], 0, full]);
  t.is(host().mode, 'observe');
  await change(null, { mode: null });
  t.is(host().mode, 'enforce', 'as configured');
  await change(null, { kill: true });
  t.true(host().killed);
  await change(null, { kill: false });
  t.false(host().killed);
  await change(FN, { paused: true });
  await change(FN, { mode: 'recommend' });
  const container = rig.container({ quota: 1000 });
  container.call(20, 300);
  const { functions } = rig.hook.inspect({} as never) as {
    functions: { paused: boolean; mode: string }[];
  };
  t.like(functions[0], { paused: true, mode: 'recommend' });
});

test('a kill switch that leaves limits behind is a failure of its host', async (t) => {
  const bus = new MemoryBus();
  const answers = { restored: 3, failed: 2 };
  const service = serve(bus.connect(), {
    name: services.hook,
    version: '1.0.0',
    description: 'cannot restore two containers',
    host: 'host-a',
    endpoints: { restore: { description: 'nothing', handle: () => answers } },
  });
  t.teardown(() => service.stop());
  const held = await switchMode(bus.connect(), null, { kill: true }, who, millis(50));
  const problem = 'user limits of 2 containers cannot be restored';
  t.deepEqual(
    [held.hosts, [...held.problems], held.failed.size],
    [['host-a'], [['host-a', problem]], 0],
  );
  t.deepEqual(textsOf(held), [['GLN_MODE_PROBLEM', `in force on host-a, but ${problem}`]]);
  t.deepEqual(await act(bus.connect(), { action: 'restore' }), {
    ok: false,
    text: `host-a: ${problem}`,
  });
  bus.refusal = (_, operation) => (operation === 'write' ? full : null);
  const notStored = await switchMode(bus.connect(), null, { kill: true }, who, millis(50));
  t.deepEqual(textsOf(notStored), [
    ['GLN_MODE_PROBLEM', `in force on host-a, but ${problem}`],
    ['GLN_MODE_NOT_STORED', `in force on 1 host but not stored: ${full.message}`],
  ]);
  answers.failed = 0;
  bus.refusal = () => null;
  t.deepEqual(textsOf(await switchMode(bus.connect(), null, { kill: true }, who, millis(50))), []);
});

test('a change that reaches no hook and no store names the way that is left', async (t) => {
  const bus = new MemoryBus();
  bus.refusal = () => new NoJetStreamError('get in bucket gleaner_mode');
  const error = await t.throwsAsync(switchMode(bus.connect(), null, { mode: 'observe' }, who), {
    code: 'GLN_MODE_NOT_CHANGED',
    message: /^in force on no host: no hook answers; and not stored: JetStream is not enabled/,
  });
  t.regex((error as GleanerError).hint, /`gleaner restore --hold` .* start nats-server with -js/);
});

test('a change that is stored while no hook answers is in force on no host', async (t) => {
  const bus = new MemoryBus();
  const outcome = await switchMode(bus.connect(), null, { mode: 'observe' }, who);
  t.like(outcome, { hosts: [], notStored: null });
  const [error] = modeErrors(outcome);
  t.is(error?.code, 'GLN_MODE_NO_HOOK');
  t.regex(error!.hint, /gleaner restore --hold/);
  for (const action of ['pause', 'resume', 'mode'] as const)
    t.deepEqual(await act(bus.connect(), { action, function: FN, mode: 'observe' }), {
      ok: false,
      text: 'stored, but in force on no host: no hook answers',
    });
});

test('a change is not in force on a host whose hook runs and does not answer', async (t) => {
  const rig = await new HookRig().start();
  t.teardown(() => rig.hook.stop());
  const aggregator = serve(rig.other, {
    name: services.aggregator,
    version: '1.0.0',
    description: 'knows a second hook',
    host: 'host-a',
    endpoints: {
      list: {
        description: 'instances',
        handle: () => ({
          host: 'host-a',
          publishing: true,
          epoch: 1,
          paused: false,
          refusals: {},
          agents: [],
          invokers: [],
          instances: { [services.hook]: { of_a: 'host-a', of_b: 'host-b' } },
        }),
      },
    },
  });
  t.teardown(() => aggregator.stop());
  const outcome = await switchMode(rig.other, null, { mode: 'observe' }, who, millis(50));
  t.deepEqual(
    [outcome.hosts, [...outcome.failed]],
    [['host-a'], [['host-b', 'its hook does not answer']]],
  );
  t.deepEqual(textsOf(outcome), [
    ['GLN_MODE_NOT_IN_FORCE', 'not in force on host-b: its hook does not answer'],
  ]);
});

test('a host name of two hooks is an error of the change, which reaches both', async (t) => {
  const bus = new MemoryBus();
  let held = 0;
  for (let i = 0; i < 2; i++) {
    const service = serve(bus.connect(), {
      name: services.hook,
      version: '1.0.0',
      description: 'on a cloned machine',
      host: 'vm',
      endpoints: {
        restore: { description: 'counts', handle: () => ({ failed: 0, held: ++held }) },
      },
    });
    t.teardown(() => service.stop());
  }
  bus.refusal = (_, operation) => (operation === 'write' ? full : null);
  const outcome = await switchMode(bus.connect(), null, { kill: true }, who, millis(50));
  t.is(held, 2);
  const { hosts, problems, notStored } = outcome;
  t.deepEqual([hosts, notStored], [['vm'], full]);
  t.regex(problems.get('vm') ?? '', /^2 instances of gleaner-hook are called vm: only one has/);
  t.like(await act(bus.connect(), { action: 'restore' }), { ok: false });
});

test('a change that every hook refuses and no store takes is not made', async (t) => {
  const bus = new MemoryBus();
  bus.refusal = (_, operation) => (operation === 'write' ? full : null);
  for (let i = 0; i < 2; i++) {
    const service = serve(bus.connect(), {
      name: services.hook,
      version: '1.0.0',
      description: 'of an earlier release, on a cloned machine',
      host: 'vm',
      endpoints: {
        restore: {
          description: 'refuses',
          handle: () => {
            throw new ServiceError(400, 'unknown field');
          },
        },
      },
    });
    t.teardown(() => service.stop());
  }
  await t.throwsAsync(switchMode(bus.connect(), null, { kill: true }, who, millis(50)), {
    code: 'GLN_MODE_NOT_CHANGED',
    message: /^in force on no host: vm: .*unknown field/,
  });
});

test('a change is stored later if the error is temporary', async (t) => {
  const bus = new MemoryBus();
  const broker = bus.connect();
  let tries = 0;
  bus.refusal = (_, operation) => (operation === 'write' && ++tries < 3 ? full : null);
  const times = { during: 60_000, every: 10 };
  t.is(await storeLater(broker, null, { mode: 'observe' }, who, { first: full, ...times }), null);
  t.is(tries, 3);
  bus.refusal = () => full;
  t.is(
    await storeLater(broker, null, { mode: 'observe' }, who, {
      first: full,
      during: 50,
      every: 10,
    }),
    full,
  );
  let asked = 0;
  bus.refusal = () => {
    asked++;
    return null;
  };
  const conflict = Object.assign(new StoreFullError('', ''), { code: 'GLN_MODE_CONFLICT' });
  t.is(
    await storeLater(broker, null, { mode: 'observe' }, who, { first: conflict, ...times }),
    conflict,
  );
  t.is(asked, 0);
});

test('the dashboard shows that a change is applied but not stored', async (t) => {
  const { rig, host } = await hookWhoseStoreIsFull();
  t.teardown(() => rig.hook.stop());
  const answer = await act(rig.other, { action: 'mode', mode: 'observe' });
  t.is(host().mode, 'observe');
  t.false(answer.ok);
  t.regex(answer.text, /^in force on 1 host but not stored: .*the store is full/);
});

/** Between the next read of `broker` and its write, another client makes `change`. */
function interrupt(broker: Broker, change: () => Promise<void>): void {
  const modes = broker.keyValue(buckets.mode);
  const read = modes.get.bind(modes);
  modes.get = async (key) => {
    modes.get = read;
    const entry = await read(key);
    await change();
    return entry;
  };
}

for (const { fn, change } of [
  { fn: FN, change: { paused: true, kill: false } },
  { fn: null, change: { paused: false, kill: true } },
])
  test(`the configured mode keeps another client's ${fn ? 'pause' : 'kill switch'}`, async (t) => {
    const bus = new MemoryBus();
    const [broker, other] = [bus.connect(), bus.connect()];
    await changeMode(other, fn, { mode: 'enforce' }, who);
    interrupt(broker, () => changeMode(other, fn, change, who));
    await changeMode(broker, fn, { mode: null }, who);
    const key = fn === null ? MODE_GLOBAL : modeKey(fn);
    const { value } = (await other.keyValue(buckets.mode).get(key)) ?? {};
    const stored = decodeMode(value ?? new Uint8Array());
    t.like(stored, { ok: true, message: change });
    t.false(stored.ok && 'mode' in stored.message);
  });

test('the configured mode of a function without a stored one changes nothing', async (t) => {
  const bus = new MemoryBus();
  const [broker, other] = [bus.connect(), bus.connect()];
  interrupt(broker, () => changeMode(other, FN, { paused: true }, who));
  await changeMode(broker, FN, { mode: null }, who);
  t.deepEqual(await other.keyValue(buckets.mode).keys(), [modeKey(FN)]);
});

test('a release removes those older than a week, and nothing that holds a function', async (t) => {
  const bus = new MemoryBus();
  const [broker, other] = [bus.connect(), bus.connect()];
  const bucket = other.keyValue(buckets.mode);
  const day = 24 * 3600 * 1e6;
  const put = (fn: string | null, days: number, held: Partial<ModeValue>) => {
    const at = systemClock.wall() - days * day;
    const value = { v: 1, kill: false, paused: false, author: 'earlier', reason: '', at, ...held };
    return bucket.put(fn === null ? MODE_GLOBAL : modeKey(fn), encodeMessage(value as object));
  };
  await put(null, 100, {});
  await put('/guest/old', 8, {});
  await put('/guest/young', 6, {});
  await put('/guest/paused', 100, { paused: true });
  await put('/guest/observed', 100, { mode: 'observe' });
  await bucket.put(modeKey('/guest/unreadable'), new Uint8Array([1]));
  const seen: string[] = [];
  bucket.watch(({ key }) => seen.push(key));
  await changeMode(broker, FN, { paused: true }, who);
  const all = await bucket.keys();
  t.is(all.length, 7, 'a pause removes nothing');
  await changeMode(broker, FN, { paused: false }, who);
  t.deepEqual(
    (await bucket.keys()).sort(),
    all.filter((key) => key !== modeKey('/guest/old')).sort(),
  );
  t.true(seen.includes(modeKey(FN)), 'hooks get the new release');
});

test('a hook that was away for longer than a release is kept learns of it', async (t) => {
  const rig = await new HookRig().start();
  t.teardown(() => rig.hook.stop());
  const container = rig.container({ quota: 1000 });
  container.call(20, 300);
  const isPaused = () => rig.hook.inspect({ function: FN }).functions[0]?.paused;
  await changeMode(rig.other, FN, { paused: true }, who);
  t.true(isPaused());
  rig.bus.takeDown();
  // Meanwhile it was released, that release was removed, and another function was paused.
  const bucket = rig.bus.bucket(buckets.mode);
  const { value } = bucket.entries.get(modeKey(FN))!;
  bucket.entries.delete(modeKey(FN));
  bucket.write(modeKey('/guest/other'), value);
  t.true(isPaused());
  rig.bus.bringUp();
  await rig.other.flush();
  t.false(isPaused());
});

test('the stored mode of one function: an unreadable value is told from none', async (t) => {
  const broker = new MemoryBus().connect();
  t.is(await storedMode(broker, FN), null);
  await changeMode(broker, FN, { paused: true }, who);
  t.like(await storedMode(broker, FN), { paused: true, author: 'test' });
  await changeMode(broker, FN, { paused: false }, who);
  t.is(await storedMode(broker, FN), null, 'a release has no effect');
  await broker.keyValue(buckets.mode).put(modeKey(FN), Buffer.from('{'));
  t.deepEqual(await storedMode(broker, FN), { unreadable: true });
});
